"""`tls_end_point`: what clients bind a login to: the hash of the server's certificate (RFC 5929, section 4)."""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path

__all__ = ["tls_end_point"]

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_RSA, _ECDSA = bytes.fromhex("2a864886f70d0101"), bytes.fromhex("2a8648ce3d04")
# The hash of a signature, by the object identifier of its algorithm; instead of MD5 and SHA-1 the rule takes SHA-256.
_HASHES = {
    _RSA + b"\x04": "sha256", _RSA + b"\x05": "sha256", _RSA + b"\x0b": "sha256", _RSA + b"\x0c": "sha384",
    _RSA + b"\x0d": "sha512", _RSA + b"\x0e": "sha224", _ECDSA + b"\x01": "sha256", _ECDSA + b"\x03\x01": "sha224",
    _ECDSA + b"\x03\x02": "sha256", _ECDSA + b"\x03\x03": "sha384", _ECDSA + b"\x03\x04": "sha512",
}  # fmt: skip
_SEQUENCE, _OBJECT = 0x30, 0x06


def tls_end_point(certificate: Path) -> bytes | None:
    """Return the hash of the first certificate of a PEM file that a server uses; None if its signature has no hash."""
    text = certificate.read_text(encoding="ascii", errors="replace")
    start = text.index(_BEGIN)
    der = ssl.PEM_cert_to_DER_cert(text[start : text.index(_END, start) + len(_END)])
    # Certificate ::= SEQUENCE { what is signed, SEQUENCE { algorithm OBJECT IDENTIFIER, ... }, the signature }
    inside, _ = _content(der, 0, _SEQUENCE)
    _, behind = _content(der, inside[0], _SEQUENCE)
    algorithm, _ = _content(der, behind, _SEQUENCE)
    (begin, end), _ = _content(der, algorithm[0], _OBJECT)
    name = _HASHES.get(der[begin:end])
    return None if name is None else hashlib.new(name, der).digest()


def _content(der: bytes, place: int, tag: int) -> tuple[tuple[int, int], int]:
    """Return where the content of an element of DER begins and ends, and where the next element begins."""
    if der[place] != tag:
        raise ValueError("not a certificate")
    size, begin = der[place + 1], place + 2
    if size & 0x80:
        more = size & 0x7F
        size, begin = int.from_bytes(der[begin : begin + more], "big"), begin + more
    return (begin, begin + size), begin + size
