"""`LoginKeys`: what is kept of a token so that its holder can prove that he has it and never sends it (SCRAM-SHA-256).

Made from the same token as its SHA-256. Nothing logs in with these keys, and 32 random bytes are not guessed from them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from typing import NamedTuple

__all__ = ["ITERATIONS", "LoginKeys", "login_keys"]

ITERATIONS = 4096
"""The least that RFC 7677 allows; a random token needs no more."""
_TEXT = re.compile(r"SCRAM-SHA-256\$(\d+):([^$:]+)\$([^$:]+):([^$:]+)")


class LoginKeys(NamedTuple):
    """The keys of RFC 5802, of one token."""

    iterations: int
    salt: bytes
    stored: bytes
    server: bytes

    @property
    def text(self) -> str:
        """As PostgreSQL writes them."""
        salt, stored, server = (base64.b64encode(one).decode() for one in self[1:])
        return f"SCRAM-SHA-256${self.iterations}:{salt}${stored}:{server}"

    @classmethod
    def read(cls, text: str) -> LoginKeys:
        """Read `text`; `ValueError` if it is none."""
        found = _TEXT.fullmatch(text)
        if found is None:
            raise ValueError("no keys of SCRAM-SHA-256")
        salt, stored, server = (base64.b64decode(one, validate=True) for one in found.groups()[1:])
        return cls(int(found[1]), salt, stored, server)


def login_keys(token: str, salt: bytes) -> LoginKeys:
    """Derive the keys of a token; it is ASCII, so SASLprep leaves it as it is."""
    salted = hashlib.pbkdf2_hmac("sha256", token.encode(), salt, ITERATIONS)
    client = hmac.digest(salted, b"Client Key", "sha256")
    return LoginKeys(ITERATIONS, salt, hashlib.sha256(client).digest(), hmac.digest(salted, b"Server Key", "sha256"))
