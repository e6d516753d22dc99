"""An authority, a certificate of it for localhost, and another authority: for tests of TLS."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

__all__ = ["certificates"]


def certificates(folder: Path) -> tuple[Path, Path]:
    """Write `server.pem` and `server.key`; returns the authority that has signed it, and one that has not."""
    x509 = pytest.importorskip("cryptography.x509", reason="cryptography is not installed: no certificates")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now, day = datetime.now(UTC), timedelta(days=1)

    def made(name: str, key: object, issuer: str, signer: object, is_authority: bool, hashed: object) -> bytes:
        def named(text: str) -> object:
            return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

        builder = (
            x509.CertificateBuilder()
            .subject_name(named(name))
            .issuer_name(named(issuer))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - day)
            .not_valid_after(now + day)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if not is_authority:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        return builder.sign(signer, hashed).public_bytes(serialization.Encoding.PEM)

    keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("server", "good", "other")}
    for name in ("good", "other"):
        (folder / f"{name}.pem").write_bytes(made(name, keys[name], name, keys[name], True, hashes.SHA256()))
    (folder / "server.pem").write_bytes(made("localhost", keys["server"], "good", keys["good"], False, hashes.SHA384()))
    (folder / "server.key").write_bytes(
        keys["server"].private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return folder / "good.pem", folder / "other.pem"
