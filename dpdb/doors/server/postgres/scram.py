"""`Scram`: the server's side of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677, RFC 5929).

A name that nobody has gets the same messages in the same time: a salt that stays the same, and a proof that is checked
against keys that no token has.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets

from dpdb.doors.server.analysts import ITERATIONS, LoginKeys
from dpdb.doors.server.postgres.wire import WireError

PLAIN, PLUS = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"
LOGIN_FAILED = "28P01", "login failed: the user is an analyst's name, and the password his token"
_FIRST = re.compile(r"(?P<gs2>(?P<flag>[ny]|p=(?P<binding>[A-Za-z0-9.-]+)),,)(?P<bare>n=[^,]*,r=(?P<nonce>[!-+\--~]+))")
_FINAL = re.compile(r"(?P<bare>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>[!-+\--~]+)),p=(?P<proof>[A-Za-z0-9+/=]+)")
_NONCE_BYTES = 18


def mechanisms(end_point: bytes | None) -> list[str]:
    """Return what a client may choose from; -PLUS where the connection has a certificate to bind to."""
    return [PLAIN] if end_point is None else [PLUS, PLAIN]


def mock_keys(salt: bytes) -> LoginKeys:
    """Return keys that no token has, under the salt of a name that nobody has."""
    return LoginKeys(ITERATIONS, salt, secrets.token_bytes(32), secrets.token_bytes(32))


class Scram:
    """One login.

    Parameters
    ----------
    end_point : bytes or None
        The hash of the server's certificate, as `tls-server-end-point` has it, where the client was offered -PLUS.

    Raises
    ------
    WireError
        From any method: the login is not what the protocol has, or the client does not have the token.
    """

    def __init__(self, mechanism: str, end_point: bytes | None, keys: LoginKeys) -> None:
        if mechanism not in mechanisms(end_point):
            raise WireError("08P01", "the client chose a way to log in that is not offered")
        self._plus, self._end_point, self._keys = mechanism == PLUS, end_point, keys

    def first(self, message: bytes) -> bytes:
        """Take the client's first message, and return the server's."""
        found = _FIRST.fullmatch(message.decode("latin-1"))
        if found is None:
            raise WireError("08P01", "the client's first message of SCRAM is malformed")
        if (found["binding"] is not None) != self._plus or found["binding"] not in (None, "tls-server-end-point"):
            raise WireError("08P01", "the channel binding that the client chose is not offered")
        if found["flag"] == "y" and self._end_point is not None:
            raise WireError("28000", "the client was not told that channel binding is offered: someone is in between")
        self._bound = found["gs2"].encode() + ((self._end_point or b"") if self._plus else b"")
        self._nonce = found["nonce"] + secrets.token_urlsafe(_NONCE_BYTES)
        salt = base64.b64encode(self._keys.salt).decode()
        answer = f"r={self._nonce},s={salt},i={self._keys.iterations}"
        self._before = f"{found['bare']},{answer}"
        return answer.encode()

    def final(self, message: bytes) -> bytes:
        """Take the client's proof, and return the server's signature, by which the client knows the server."""
        found = _FINAL.fullmatch(message.decode("latin-1"))
        try:
            if found is None:
                raise ValueError
            bound, proof = (base64.b64decode(found[part], validate=True) for part in ("binding", "proof"))
        except ValueError:
            raise WireError("08P01", "the client's proof is malformed") from None
        signed = f"{self._before},{found['bare']}".encode("latin-1")
        signature = hmac.digest(self._keys.stored, signed, "sha256")
        client = bytes(one ^ other for one, other in zip(proof, signature, strict=False))
        is_holder = hmac.compare_digest(hashlib.sha256(client).digest(), self._keys.stored)
        is_fresh = hmac.compare_digest(found["nonce"].encode(), self._nonce.encode())
        if not (is_holder and is_fresh and hmac.compare_digest(bound, self._bound) and len(proof) == len(signature)):
            raise WireError(*LOGIN_FAILED)
        return b"v=" + base64.b64encode(hmac.digest(self._keys.server, signed, "sha256"))
