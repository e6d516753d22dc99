"""DSSE envelopes (secure-systems-lab, version 1.0): a payload, its type, and signatures of both."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from dpdb.receipts.ed25519 import is_signed

__all__ = ["EnvelopeError", "accepted_keys", "canonical", "envelope", "pae"]


class EnvelopeError(ValueError):
    """An envelope is malformed."""


def pae(kind: str, payload: bytes) -> bytes:
    """Return what is signed: type and payload, each after its length.

    Examples
    --------
    >>> pae("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    coded = kind.encode()
    return b"DSSEv1 %d %b %d %b" % (len(coded), coded, len(payload), payload)


def canonical(value: object) -> bytes:
    """Return JSON in the one form that is signed and compared here: sorted keys, no blanks, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def envelope(kind: str, payload: bytes, signed: bytes, key_id: str) -> dict[str, Any]:
    """Return an envelope with one signature.

    Parameters
    ----------
    kind
        The type of the payload.
    payload
        What was signed, with its type.
    signed
        The signature of `pae`.
    key_id
        A hint for whoever looks for the key.
    """
    signature = {"keyid": key_id, "sig": base64.b64encode(signed).decode()}
    return {"payload": base64.b64encode(payload).decode(), "payloadType": kind, "signatures": [signature]}


def accepted_keys(found: object, publics: Mapping[str, bytes]) -> tuple[str, bytes, list[str]]:
    """Return type and payload of an envelope, and the names of the keys with a valid signature of both.

    Either alphabet of base64 is read, and the hint of a signature decides nothing.

    Parameters
    ----------
    found
        The envelope, as read from JSON.
    publics
        Public keys by name.

    Raises
    ------
    EnvelopeError
        It is malformed.
    """
    if not isinstance(found, dict) or not isinstance(found.get("signatures"), list) or not found["signatures"]:
        raise EnvelopeError("it is no envelope of DSSE")
    kind, payload = found.get("payloadType"), _decoded(found.get("payload"))
    if not isinstance(kind, str):
        raise EnvelopeError("the envelope has no type")
    message, accepted = pae(kind, payload), []
    for one in found["signatures"]:
        signed = _decoded(one.get("sig") if isinstance(one, dict) else None)
        for name, public in publics.items():
            if name not in accepted and is_signed(public, signed, message):
                accepted.append(name)
    return kind, payload, accepted


def _decoded(text: object) -> bytes:
    if not isinstance(text, str):
        raise EnvelopeError("the envelope is malformed")
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except ValueError:
        raise EnvelopeError("the envelope has no base64 where it should") from None
