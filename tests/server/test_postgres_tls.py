"""TLS and channel binding of PostgreSQL's protocol, by libpq; SCRAM and the end point by their definitions."""

from __future__ import annotations

import base64
import re
import shutil
import ssl
import struct
import subprocess
from pathlib import Path

import psycopg
import pytest
from postgres_tls import certificates
from server_site import Server, count
from wire_client import EndedError, Wire, error_of, startup

from dpdb.doors.server.analysts import LoginKeys, login_keys
from dpdb.doors.server.certificate import tls_end_point
from dpdb.doors.server.postgres.scram import PLAIN, PLUS, Scram
from dpdb.doors.server.postgres.wire import WireError

PAID = count(0.01)


def asked(server: Server, **options: object) -> object:
    given = {"user": "ann", "password": server.site.tokens["ann"], "dbname": "visits", "port": server.postgres_port}
    with psycopg.connect(**{"host": "localhost", **given, **options}, autocommit=True) as connection:
        return connection.execute(PAID).fetchone()


@pytest.mark.heavy(family="alone")
def test_clients_know_the_server_and_it_knows_them(tls: tuple[Server, Path]) -> None:
    server, authority = tls
    before, other = server.site.spent(), authority.parent / "other.pem"
    for binding in ("require", "prefer", "disable"):
        full = {"sslmode": "verify-full", "sslrootcert": authority, "channel_binding": binding}
        assert asked(server, **full) is not None
    assert server.site.spent() - before == pytest.approx(0.03)
    assert asked(server, sslmode="require", channel_binding="require") is not None
    refused = {
        "certificate verify failed": {"sslmode": "verify-full", "sslrootcert": other},
        "does not match host name": {"sslmode": "verify-full", "sslrootcert": authority, "host": "127.0.0.1"},
        "this server speaks TLS only": {"sslmode": "disable"},
        "login failed": {"sslmode": "require", "password": "wrong"},
    }
    before = server.site.spent()
    for words, options in refused.items():
        with pytest.raises(psycopg.OperationalError, match=words):
            asked(server, **options)
    assert server.site.spent() == before


@pytest.mark.heavy(family="long")
@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql_binds_its_channel(tls: tuple[Server, Path]) -> None:
    server, authority = tls
    place = f"host=localhost port={server.postgres_port} user=ann dbname=visits sslrootcert={authority}"
    done = subprocess.run(
        ["psql", "-X", "-At", "-c", PAID, f"{place} sslmode=verify-full channel_binding=require"],
        env={"PGPASSWORD": server.site.tokens["ann"], "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert re.fullmatch(r"-?\d+\n", done.stdout)
    assert "epsilon 0.01 by 1 release" in done.stderr


def test_nothing_that_came_before_tls_is_read_after_it(tls: tuple[Server, Path]) -> None:
    server, authority = tls
    with Wire(server.postgres_port) as wire:
        wire.send(struct.pack("!ii", 8, 80877103) + startup("ann"))
        assert wire.exactly(1) == b"S"
        context = ssl.create_default_context(cafile=str(authority))
        with pytest.raises(OSError, match=r"SSL|reset|pipe"):  # noqa: SIM117  # either end may notice first
            with context.wrap_socket(wire.socket, server_hostname="localhost") as wrapped:
                wrapped.recv(1)
    with Wire(server.postgres_port) as wire:
        wire.send(startup("ann"))
        assert error_of(wire.message())["C"] == "28000"
        with pytest.raises(EndedError):
            wire.message()


@pytest.mark.parametrize("hashed", ["SHA256", "SHA384", "SHA512", "RSA SHA256", "Ed25519"])
def test_the_end_point_is_the_hash_of_the_certificate(hashed: str, tmp_path: Path) -> None:
    x509 = pytest.importorskip("cryptography.x509", reason="cryptography is not installed: no certificates")
    from datetime import UTC, datetime, timedelta

    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")]), datetime.now(UTC)
    key: object = ec.generate_private_key(ec.SECP256R1())
    if hashed == "Ed25519":
        key = ed25519.Ed25519PrivateKey.generate()
    elif hashed.startswith("RSA"):
        key = rsa.generate_private_key(65537, 2048)
    algorithm = None if hashed == "Ed25519" else getattr(hashes, hashed.removeprefix("RSA "))()
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1)).sign(key, algorithm)
    )  # fmt: skip
    path = tmp_path / "one.pem"
    path.write_bytes(b"words before\n" + made.public_bytes(serialization.Encoding.PEM))
    assert tls_end_point(path) == (None if algorithm is None else made.fingerprint(algorithm))


def test_the_end_point_is_of_the_first_certificate(tmp_path: Path) -> None:
    certificates(tmp_path)
    chain = tmp_path / "chain.pem"
    chain.write_bytes((tmp_path / "server.pem").read_bytes() + (tmp_path / "good.pem").read_bytes())
    assert tls_end_point(chain) == tls_end_point(tmp_path / "server.pem") != tls_end_point(tmp_path / "good.pem")


def test_scram_of_the_rfc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exchange of RFC 7677, section 3, whose server adds this to the client's nonce."""
    monkeypatch.setattr("secrets.token_urlsafe", lambda size: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    keys = login_keys("pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="))
    assert LoginKeys.read(keys.text) == keys
    login = Scram(PLAIN, None, keys)
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert login.first(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO") == f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
    proof = b"dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert login.final(f"c=biws,r={nonce},p=".encode() + proof) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize(
    ("mechanism", "end_point", "first", "code"),
    [
        (PLUS, None, b"p=tls-server-end-point,,n=,r=abc", "08P01"),
        (PLUS, b"x", b"n,,n=,r=abc", "08P01"),
        (PLUS, b"x", b"p=tls-unique,,n=,r=abc", "08P01"),
        (PLAIN, b"x", b"p=tls-server-end-point,,n=,r=abc", "08P01"),
        (PLAIN, b"x", b"y,,n=,r=abc", "28000"),  # who is in between has taken -PLUS from the list
        (PLAIN, None, b"n,a=olga,n=,r=abc", "08P01"),
        (PLAIN, None, b"n,,m=x,n=,r=abc", "08P01"),
        (PLAIN, None, b"n,,n=,r=", "08P01"),
        (PLAIN, None, b"", "08P01"),
        ("MD5", None, b"", "08P01"),
    ],
)
def test_logins_that_are_refused_at_once(mechanism: str, end_point: bytes | None, first: bytes, code: str) -> None:
    with pytest.raises(WireError) as refused:
        Scram(mechanism, end_point, login_keys("token", b"salt")).first(first)
    assert refused.value.code == code


def test_a_login_is_bound_to_its_channel_and_its_nonce() -> None:
    import hashlib
    import hmac

    keys, salt = login_keys("token", b"salt"), b"salt"
    client = hmac.digest(hashlib.pbkdf2_hmac("sha256", b"token", salt, 4096), b"Client Key", "sha256")

    def answered(bound: bytes, own: str = "", token: bytes = client, cut: int = 32) -> bytes:
        login = Scram(PLUS, b"certificate", keys)
        first = login.first(b"p=tls-server-end-point,,n=,r=abc").decode()
        nonce = own or first.split(",")[0].removeprefix("r=")
        without = f"c={base64.b64encode(b'p=tls-server-end-point,,' + bound).decode()},r={nonce}"
        signature = hmac.digest(hashlib.sha256(token).digest(), f"n=,r=abc,{first},{without}".encode(), "sha256")
        proof = bytes(one ^ other for one, other in zip(token, signature, strict=True))[:cut]
        return login.final(f"{without},p={base64.b64encode(proof).decode()}".encode())

    assert answered(b"certificate").startswith(b"v=")
    for wrong in ({"bound": b"other"}, {"bound": b"certificate", "own": "abc"},
                  {"bound": b"certificate", "token": b"\0" * 32}, {"bound": b"certificate", "cut": 31}):  # fmt: skip
        with pytest.raises(WireError) as refused:
            answered(**wrong)  # type: ignore[arg-type]
        assert refused.value.code == "28P01"
