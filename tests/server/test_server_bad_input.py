"""Configurations, certificates, clocks and rights that go wrong: one line, and nothing is spent."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest
from private_rows import private_rows
from server_site import COUNT, Server, Site, count, in_one_of_three, make_site

from dpdb.doors.server.analysts import list_analysts, ration_analyst, revoke_analyst
from dpdb.doors.server.certificate import server_context
from dpdb.doors.server.configuration import load_configuration
from dpdb.errors import LedgerError, ParameterError
from dpdb.ledger import Ledger
from dpdb.stopping import watchers


@pytest.fixture
def own(tmp_path: Path) -> Site:
    return make_site(tmp_path, analysts={"ann": {"quota": 3}, "bob": {}})


def edit(site: Site, *pairs: tuple[str, str]) -> None:
    text = site.config.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    site.config.write_text(text)


def dpdb(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dpdb", *map(str, arguments)], check=False, capture_output=True, text=True, timeout=120
    )


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (("[server]", '[server]\naddress = "0.0.0.0"'), "give certificate and private_key, or listen at 127.0.0.1"),
        (("[server]", '[server]\naddress = "example.org"'), "expected an address such as 127.0.0.1"),
        (("[server]", '[server]\ncertificate = "states.csv"'), "certificate and private_key go together"),
        (("[server]", '[server]\ncertificate = "none.pem"'), "no such file"),
        (("port = 0", "port = 70000"), "expected a number from 0 to 65535"),
        (("port = 0", "prt = 0"), "did you mean 'port'"),
        (("release_seconds = 0.02", "release_seconds = 0"), "expected a positive number"),
        (("release_seconds = 0.02", "release_seconds = inf"), "expected a positive number"),
        (("visits.ledger", "other.ledger"), "make it once with `dpdb budget create"),
        (("[public]", '[public]\nvisits = "states.csv"'), "two tables have the name 'visits'"),
        (
            ("[public]", '[tables.more]\nsource = "visits.parquet"\nledger = "visits.ledger"\n[public]'),
            "two tables name",
        ),
        (("[tables.visits]", "[table.visits]"), "unknown key 'table'"),
    ],
)
def test_configurations_that_cannot_be(own: Site, pair: tuple[str, str], words: str) -> None:
    edit(own, pair)
    with pytest.raises(ParameterError) as error:
        load_configuration(own.config)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_configuration_is_named_by_the_caller(own: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own.folder)
    (own.folder / "dpdb.toml").write_text("[serve]\nport = 1\n")
    found = dpdb("serve")
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
    assert "--config" in found.stderr


@pytest.mark.heavy(family="long")
def test_a_port_that_is_taken(own: Site) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        found = dpdb("serve", "--config", own.config, "--port", str(taken.getsockname()[1]))
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
    assert "cannot be listened at: Address already in use" in found.stderr


def certificate(folder: Path, begin: datetime, end: datetime) -> tuple[Path, Path]:
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "cert.pem", folder / "key.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths


def test_certificates(own: Site) -> None:
    now, day = datetime.now(UTC), timedelta(days=1)
    good, key = certificate(own.folder, now - day, now + day)
    server_context(good, key)
    expired = own.folder / "expired"
    expired.mkdir()
    for begin, end, words in ((-2, -1, "certificate has expired"), (1, 2, "not yet valid")):
        with pytest.raises(ParameterError, match=words):
            server_context(*certificate(expired, now + begin * day, now + end * day))
    with pytest.raises(ParameterError, match=r"is no certificate of the key"):
        server_context(good, expired / "key.pem")
    with pytest.raises(ParameterError, match="is no certificate of the key"):
        server_context(own.folder / "states.csv", key)
    with pytest.raises(ParameterError, match="cannot be read: No such file"):
        server_context(own.folder / "nothing.pem", key)


@pytest.mark.heavy(family="long")
def test_https(own: Site) -> None:
    import ssl

    now = datetime.now(UTC)
    good, _ = certificate(own.folder, now - timedelta(days=1), now + timedelta(days=1))
    edit(own, ("[server]", '[server]\naddress = "0.0.0.0"\ncertificate = "cert.pem"\nprivate_key = "key.pem"'))
    with Server(own) as server:
        assert server.url.startswith("https://")
        trusted = ssl.create_default_context(cafile=str(good))
        url = f"https://localhost:{server.url.rpartition(':')[2]}/v1/account"
        headers = {"Authorization": f"Bearer {own.tokens['ann']}"}
        assert httpx.get(url, headers=headers, verify=trusted, trust_env=False).status_code == 200


@pytest.mark.heavy(family="privacy")
def test_silence_before_a_handshake_keeps_nobody_out(own: Site) -> None:
    """Of 300 sockets that say nothing 20 stay open, and end after seconds; a newcomer is answered meanwhile."""
    import ssl

    now = datetime.now(UTC)
    good, _ = certificate(own.folder, now - timedelta(days=1), now + timedelta(days=1))
    files = 'certificate = "cert.pem"\nprivate_key = "key.pem"'
    edit(own, ("[server]", f"[server]\n{files}\nconnections_per_address = 20"))
    with Server(own) as server, contextlib.ExitStack() as silent:
        port = int(server.url.rpartition(":")[2])
        trusted = ssl.create_default_context(cafile=str(good))

        def seconds() -> float:
            began = time.monotonic()
            url, headers = f"https://localhost:{port}/v1/account", {"Authorization": f"Bearer {own.tokens['ann']}"}
            assert httpx.get(url, headers=headers, verify=trusted, trust_env=False, timeout=30).status_code == 200
            return time.monotonic() - began

        def sockets() -> int:
            found = 0
            for link in Path(f"/proc/{server.process.pid}/fd").iterdir():
                with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
                    found += str(link.readlink()).startswith("socket:")
            return found

        alone, before = seconds(), sockets()

        def among_silent_ones() -> float:
            for _ in range(300):
                silent.enter_context(socket.create_connection(("127.0.0.1", port)))
            return seconds()

        assert in_one_of_three(among_silent_ones, 3 * alone + 1)
        assert sockets() <= before + 25
        server.process.terminate()
        assert server.process.wait(30) == 0


@pytest.mark.heavy(family="long")
def test_a_lost_token_is_replaced_and_the_old_one_is_void(own: Site) -> None:
    with Server(own) as server:
        old, new = own.tokens["ann"], own.add("ann")
        server.wait_for_access(new, 200)
        assert server.client(token=old).get("/v1/account").status_code == 401
        [table] = server.client(token=new).get("/v1/account").json()["tables"]
        assert table["quota"] == 3  # rights stay
    text = dpdb("analyst", "add", "ann", "--config", own.config)
    assert (text.returncode, text.stderr, len(text.stdout)) == (0, "", 44)
    assert text.stdout.strip() not in own.ledger.read_bytes().decode("latin-1")


@pytest.mark.heavy(family="long")
def test_an_analyst_whom_one_ledger_lacks_is_refused_until_the_command_is_repeated(own: Site) -> None:
    """The act is killed between two ledgers."""
    Ledger.create(own.folder / "two.ledger", 5).close()
    more = '[tables.two]\nsource = "visits.parquet"\nledger = "two.ledger"\n[public]'
    edit(own, ("[public]", more))
    configuration = load_configuration(own.config)
    assert [one for found in list_analysts(configuration).values() for one in found.values()].count(None) == 2

    class KilledError(Exception):
        pass

    def kill(step: str) -> None:
        if step == "rights changed":
            raise KilledError

    watchers.append(kill)
    try:
        with pytest.raises(KilledError):
            own.add("dora", quota=1)
    finally:
        watchers.remove(kill)
    with Server(own) as server:
        assert server.client("ann").get("/v1/account").status_code == 401  # of one table only
        for name in ("ann", "dora"):
            token = own.add(name)
            server.wait_for_access(token, 200)
        tables = server.client(token=token).get("/v1/account").json()["tables"]
        assert [table["table"] for table in tables] == ["visits", "two"]
        with server.client(token=token) as client:
            both = "SELECT a.value FROM dp_count('visits', 0.1) a, dp_count('two', 0.1) b"
            refused = client.post("/v1/run", json={"statement": both})
            assert refused.json()["message"] == "one statement asks of one table, and this one of visits and two"
            found = client.post("/v1/run", json={"statement": count("0.5").replace("visits", "TWO")})
            assert found.status_code == 200, found.text
            assert client.post("/v1/check", json={"suite": "nightly"}).status_code == 200
    with Ledger.open(own.folder / "two.ledger") as ledger:
        assert ledger.spent_units() == 500_000_000


@pytest.mark.heavy(family="spending")
def test_a_quota_below_what_was_spent(own: Site) -> None:
    with Server(own) as server:
        assert server.ask("ann", count(2)).status_code == 200
        ration_analyst(load_configuration(own.config), "ann", 1, None, None)
        refused = server.ask("ann", count("0.25"))
        assert (refused.status_code, refused.json()["message"]) == (
            402, "budget refused by your quota: requested epsilon 0.25, and 0 of your 1 is left for these rows; "
            "nothing was spent",
        )  # fmt: skip
        ration_analyst(load_configuration(own.config), "bob", None, "0.125", None)
        assert "may cost epsilon 0.125 at most" in server.ask("bob", COUNT).json()["message"]
    assert own.spent() == 2


@pytest.mark.heavy(family="privacy")
def test_the_total_refuses_without_a_word_about_others(own: Site) -> None:
    with Server(own) as server:
        assert server.ask("bob", count("4.5")).status_code == 200
        refused = server.ask("ann", count("0.75")).json()
    assert refused == {
        "error": "budget",
        "message": "budget refused: requested epsilon 0.75, and the table's budget does not allow so much more for "
        "these rows; nothing was spent",
    }


@pytest.mark.heavy(family="spending")
def test_a_revoked_analyst_spends_nothing(own: Site) -> None:
    """The server has read the ledger before; the debit looks again."""
    edit(own, ("[server]", "[server]\nat_once = 5"))
    with Server(own) as server:
        with server.client("ann") as client:
            assert client.get("/v1/account").status_code == 200
            revoke_analyst(load_configuration(own.config), "ann", "olga")
            found = client.post("/v1/run", json={"statement": COUNT})
        assert found.status_code in (401, 403)
        assert (
            found.status_code == 401 or found.json()["message"] == "the access of 'ann' was revoked; nothing was spent"
        )
    assert own.spent() == 0


@pytest.mark.heavy(family="privacy")
def test_access_expires(own: Site) -> None:
    with pytest.raises(LedgerError, match="no analyst 'eve'"):
        revoke_analyst(load_configuration(own.config), "eve", None)
    token = own.add("ann", expires=datetime.now(UTC) + timedelta(seconds=8))
    with Server(own) as server:
        server.wait_for_access(token, 401)
    assert own.spent() == 0


@pytest.mark.heavy(family="long")
def test_a_table_that_has_changed_is_not_answered_from(own: Site) -> None:
    with Server(own) as server:
        assert server.ask("ann", COUNT).status_code == 200
        pq.write_table(private_rows().slice(1), own.folder / "visits.parquet")
        refused = server.ask("ann", COUNT)
        assert (refused.status_code, refused.json()["error"]) == (503, "unavailable")
        assert str(own.folder) not in refused.text
    assert own.spent() == 0.25
    with Server(own) as server:  # another state of the rows, which needs the owner's word
        refused = server.ask("ann", COUNT)
        assert (refused.status_code, refused.json()["error"]) == (503, "unavailable")
        with Ledger.open(own.ledger) as ledger:
            ledger.open_epoch()
        assert server.ask("ann", COUNT).status_code == 200


@pytest.mark.heavy(family="long")
def test_too_many_statements(own: Site) -> None:
    edit(own, ("statements_per_minute = 100000", "statements_per_minute = 3"))
    with Server(own) as server:
        found = [server.ask("ann", "SELECT 1").status_code for _ in range(5)]
        assert found == [200, 200, 200, 429, 429]
        assert server.ask("bob", "SELECT 1").status_code == 200


@pytest.mark.heavy(family="long")
def test_a_server_that_is_told_to_stop_finishes_what_runs(own: Site) -> None:
    edit(own, ("release_seconds = 0.02", "release_seconds = 4"))
    with Server(own) as server:
        started = time.monotonic()
        with server.client("ann") as client:
            import threading

            found: list[httpx.Response] = []
            asking = threading.Thread(target=lambda: found.append(client.post("/v1/run", json={"statement": COUNT})))
            asking.start()
            for _ in range(200):
                if own.spent():
                    break
                time.sleep(0.05)
            server.process.terminate()
            asking.join()
        assert found[0].status_code == 200
        assert time.monotonic() - started >= 4  # not before the grid's point
        assert server.process.wait(60) == 0
    assert own.spent() == 0.25


@pytest.mark.heavy(family="privacy")
def test_others_may_not_read_the_audit(own: Site) -> None:
    (own.folder / "audit.sqlite").touch(0o600)
    os.chmod(own.folder / "audit.sqlite", 0o644)  # noqa: PTH101
    found = dpdb("serve", "--config", own.config)
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
    assert "the audit file cannot be used: others may read or change it" in found.stderr


def test_the_example_is_a_configuration(tmp_path: Path) -> None:
    examples = Path(__file__).resolve().parents[2] / "examples"
    for name in ("data/hospital.parquet", "data/hospital.dcs.txt", "serve/serve.toml"):
        (tmp_path / Path(name).name).symlink_to(examples / name)
    (tmp_path / "nightly.txt").write_text("row_count fail below 1")
    Ledger.create(tmp_path / "hospital.ledger", 5).close()
    configuration = load_configuration(tmp_path / "serve.toml")
    assert [table.name for table in configuration.tables] == ["hospital"]
    unit = (examples / "serve" / "dpdb.service").read_text()
    assert f"TimeoutStopSec={configuration.limits.stop_seconds + 30:g}" in unit
