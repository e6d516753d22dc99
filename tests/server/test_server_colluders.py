"""Many analysts on two server processes, who pool what they may spend; servers that are killed while clients retry."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from server_site import Server, Site, count, make_site

from dpdb.ledger import Ledger

NANO = 10**9
Answers = dict[tuple[str, str], list[object]]


def collude(folder: Path, colluders: int, asks: int, budget: float) -> Counter[int]:
    """Ask for a quarter from two processes at once; return how often each status was answered."""
    names = [f"a{number}" for number in range(colluders)]
    site = make_site(folder, epsilon=budget, analysts={name: {"quota": "0.5"} for name in names})
    with Server(site) as one, Server(site) as other, ThreadPoolExecutor(colluders) as pool:

        def ask(number: int) -> int:
            return (one, other)[number % 2].ask(names[number // 2 % colluders], count("0.25")).status_code

        statuses = Counter(pool.map(ask, range(asks)))
    with Ledger.open(site.ledger) as ledger:
        assert ledger.spent_units() == 250_000_000 * statuses[200] <= budget * NANO
        assert all(analyst.spent <= 0.5 for analyst in ledger.rights.analysts())
    return statuses


@pytest.mark.heavy(family="long")
def test_colluders_stay_below_the_total(tmp_path: Path) -> None:
    assert collude(tmp_path, 6, 12, 1.5) == {200: 6, 402: 6}


@pytest.mark.slow
def test_fifty_colluders_stay_below_the_total(tmp_path: Path) -> None:
    assert collude(tmp_path, 50, 100, 5) == {200: 20, 402: 80}


@pytest.mark.heavy(family="long")
def test_quotas_are_exact_to_the_nano_epsilon(tmp_path: Path) -> None:
    site = make_site(tmp_path, epsilon=5, analysts={"ann": {"quota": "0.1"}, "bob": {"quota": "0.1"}})
    with Server(site) as one, Server(site) as other:
        for name in ("ann", "bob"):
            asked = zip((one, other, one, other), ("0.050000001", "0.05", "0.049999999", "0.001"), strict=True)
            assert [server.ask(name, count(amount)).status_code for server, amount in asked] == [200, 402, 200, 402]
    with Ledger.open(site.ledger) as ledger:
        assert ledger.spent_units() == 2 * NANO // 10


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def ask_on(site: Site, name: str, url: str, answers: Answers, over: threading.Event) -> None:
    """Ask for one key after another, each until it is answered twice."""
    number = 0
    with httpx.Client(timeout=30, trust_env=False, headers={"Authorization": f"Bearer {site.tokens[name]}"}) as client:
        while not over.is_set():
            key = f"k{number}"
            try:
                found = client.post(url, json={"statement": count("0.25")}, headers={"Idempotency-Key": key})
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            if found.status_code == 200:
                answers.setdefault((name, key), []).append(found.json()["releases"])
                number += len(answers[name, key]) == 2


def kill_again_and_again(folder: Path, kills: int, seed: int) -> None:
    """Clients ask all the time, while the server dies and is started again."""
    site = make_site(folder, epsilon=10_000, analysts={name: {} for name in ("ann", "bob")})
    options, chance = ("--port", str(free_port())), random.Random(seed)
    url = f"http://127.0.0.1:{options[1]}/v1/run"
    answers: Answers = {}
    over = threading.Event()
    threads = [threading.Thread(target=ask_on, args=(site, name, url, answers, over)) for name in site.tokens]
    for thread in threads:
        thread.start()
    try:
        lives = 0.0  # twice as long as a server takes to its first answer, so that some lives have answers
        for _ in range(kills):
            with Server(site, *options) as server:
                began = time.monotonic()
                if lives:
                    time.sleep(chance.uniform(0.0, lives))
                else:
                    while not answers and time.monotonic() < began + 60:
                        time.sleep(0.01)
                    lives = 2 * (time.monotonic() - began)
                server.kill()
        with Server(site, *options):
            enough, latest = len(answers) + 4, time.monotonic() + 60
            while len(answers) < enough and time.monotonic() < latest:
                time.sleep(0.1)
            over.set()
            for thread in threads:
                thread.join()
    finally:
        over.set()
        for thread in threads:
            thread.join()
    check_answers(site, answers)


def check_answers(site: Site, answers: Answers) -> None:
    assert len(answers) >= 4
    assert all(one == found[0] for found in answers.values() for one in found)
    with Ledger.open(site.ledger) as ledger:
        runs = Counter(entry.run_id for entry in ledger.history())
        assert set(runs.values()) == {1}
        assert {f"{name}:{key}" for name, key in answers} <= runs.keys()
        assert len(runs) <= len(answers) + len(site.tokens)  # a key that nobody waited for any more
        assert ledger.spent_units() == 250_000_000 * len(runs)
    print(f"{len(answers)} keys answered twice and alike, {len(runs)} debits")


@pytest.mark.heavy(family="long")
def test_one_answer_and_one_debit_per_key_whenever_the_server_dies(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, 2, 1)


@pytest.mark.slow
def test_one_answer_and_one_debit_per_key_after_300_kills(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, 300, 2)
