"""Ed25519 (RFC 8032) by the package cryptography, which is loaded here and nowhere else."""

from __future__ import annotations

import secrets
from typing import Any

from dpdb.errors import ParameterError

__all__ = ["SEED_BYTES", "is_signed", "new_seed", "public_of", "signature"]

SEED_BYTES = 32


def new_seed() -> bytes:
    """Return a new private key, from the operating system's randomness."""
    return secrets.token_bytes(SEED_BYTES)


def public_of(seed: bytes) -> bytes:
    """Return the public key of a private one; `ParameterError` without the package."""
    return bytes(_ed25519().Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw())


def signature(seed: bytes, message: bytes) -> bytes:
    """Return the signature of a message; `ParameterError` without the package."""
    return bytes(_ed25519().Ed25519PrivateKey.from_private_bytes(seed).sign(message))


def is_signed(public: bytes, signed: bytes, message: bytes) -> bool:
    """Return whether a signature is that of a public key for a message; `ParameterError` without the package."""
    keys = _ed25519()
    from cryptography.exceptions import InvalidSignature

    try:
        keys.Ed25519PublicKey.from_public_bytes(public).verify(signed, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise ParameterError("receipts need the package cryptography: pip install 'dpdb[receipts]'") from None
    return ed25519
