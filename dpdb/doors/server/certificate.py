"""The certificate of a server: read, with its key, and found to hold now, before anything else is opened.

Clients of PostgreSQL bind a login to its hash (`tls_end_point`; RFC 5929, section 4).
"""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path
from typing import NamedTuple

from dpdb.errors import ParameterError
from dpdb.files.bounded_file import refuse_named_pipe, usable

_MOST_ROUNDS = 10


class Served(NamedTuple):
    """What new connections get.

    Parameters
    ----------
    end_point
        What clients of PostgreSQL bind their login to, as `tls_end_point` returns it.
    """

    context: ssl.SSLContext
    end_point: bytes | None


class Certificate:
    """The certificate of a server that runs; a renewed one is taken, one that has expired is told of."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._files = certificate, key
        self._served = self._read()

    def _read(self) -> Served:
        return Served(server_context(*self._files), tls_end_point(self._files[0]))

    def newest(self) -> Served:
        """Return what new connections get: of the last files that were good."""
        return self._served

    def read_again(self) -> str | None:
        """Take the files as they are now; return, in a line, why that cannot be, None if it can."""
        try:
            self._served = self._read()
        except (ParameterError, OSError, ValueError) as error:  # exchanged meanwhile: they are read again
            return str(error)
        return None


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the context of a TLS server.

    Parameters
    ----------
    key
        PEM, without a passphrase.

    Raises
    ------
    ParameterError
        A file cannot be read, they do not go together, or the certificate has expired or does not hold yet.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION  # each costs the server a handshake; newer OpenSSL refuses by itself
    for path in (certificate, key):
        refuse_named_pipe(path, "certificate and key")
        with usable(path, "cannot be read: "):
            path.read_bytes()
    try:
        context.load_cert_chain(certificate, key, password=_no_passphrase)
    except (ssl.SSLError, OSError, ValueError) as error:
        why = getattr(error, "reason", None) or str(error)
        raise ParameterError(f"{certificate}: is no certificate of the key {key} ({why})") from None
    _refuse_out_of_date(context, certificate)
    return context


def _no_passphrase() -> str:
    raise ValueError("the key has a passphrase; a server needs one without")


def _refuse_out_of_date(context: ssl.SSLContext, certificate: Path) -> None:
    """Shake hands with ourselves in memory, with trust in this certificate alone: then only its times can fail."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    client.load_verify_locations(certificate)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [client.wrap_bio(back, there), context.wrap_bio(there, back, server_side=True)]
    for _ in range(_MOST_ROUNDS):
        done = 0
        for side in sides:
            try:
                side.do_handshake()
                done += 1
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError as error:
                raise ParameterError(f"{certificate}: {error.verify_message}") from None
            except ssl.SSLError as error:
                raise ParameterError(f"{certificate}: cannot be used ({error.reason})") from None
        if done == len(sides):
            return


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
