"""Heavy tests: over the fifths and twentieths every case runs, and none of them is empty."""

from __future__ import annotations

import case_share
import pytest


class Item:
    """What `leave_out` looks at in a collected test."""

    def __init__(self, name: str, of: int | None) -> None:
        self.nodeid = name
        marker = pytest.mark.heavy() if of == case_share.TENTH else pytest.mark.heavy(of=of)
        self.mark = None if of is None else marker.mark
        self.fixturenames: list[str] = []

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.mark if name == "heavy" else None


def items() -> list[Item]:
    found = [Item(f"a.py::light[{number}]", None) for number in range(7)]
    for of in (case_share.TENTH, case_share.TWENTIETH):
        for size in (1, 3, 5, 20, 101):
            found += [Item(f"b.py::heavy_{of}_{size}[{number}]", of) for number in range(size)]
    return found


def test_every_case_runs_in_one_of_the_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: dict[str, int] = {}
    for chosen in range(case_share.TWENTIETH):
        monkeypatch.setattr(case_share, "_chosen", [chosen])
        kept = items()
        left = case_share.leave_out(kept)
        assert sorted(item.nodeid for item in kept + left) == sorted(item.nodeid for item in items())
        counts: dict[str, int] = {}
        for item in kept:
            ran[item.nodeid] = ran.get(item.nodeid, 0) + 1
            family = item.nodeid.partition("[")[0]
            counts[family] = counts.get(family, 0) + 1
        assert counts.pop("a.py::light") == 7
        for family, count in counts.items():
            of, size = map(int, family.rsplit("_", 2)[1:])
            assert max(1, size // of) <= count <= -(-size // of)
        assert len(counts) == 10
    assert set(ran) == {item.nodeid for item in items()}


@pytest.mark.parametrize("chosen", [None, *range(case_share.TWENTIETH)])
def test_shares_of_lists_are_disjoint_and_all(chosen: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_share, "_chosen", [chosen])
    cases = list(range(100))
    for share, of in ((case_share.fifth, case_share.FIFTH), (case_share.twentieth, case_share.TWENTIETH)):
        assert share(cases) == (cases if chosen is None else cases[chosen % of :: of])


def test_tests_of_a_family_are_its_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = set()
    for chosen in range(case_share.TWENTIETH):
        monkeypatch.setattr(case_share, "_chosen", [chosen])
        kept = [Item(f"a.py::test_{name}", case_share.TENTH) for name in "abcdefg"]
        for item in kept:
            assert item.mark is not None
            item.mark = pytest.mark.heavy(family="tests").mark
        case_share.leave_out(kept)
        assert len(kept) == 1
        ran |= {item.nodeid for item in kept}
    assert len(ran) == 7


def test_without_a_choice_nothing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_share, "_chosen", [None])
    kept = items()
    assert case_share.leave_out(kept) == []
    assert len(kept) == len(items())


def test_the_long_test_of_a_file_is_a_case_of_a_family_over_all_files(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    for chosen in range(case_share.TENTH):
        monkeypatch.setattr(case_share, "_chosen", [chosen])
        kept = [Item(f"{file}.py::long", case_share.TENTH) for file in range(10)]
        for item in kept:
            item.mark = pytest.mark.heavy(family=case_share.ALONE).mark
        case_share.leave_out(kept)
        ran += [item.nodeid for item in kept]
    assert sorted(ran) == sorted(f"{file}.py::long" for file in range(10))


def test_the_long_tests_of_a_folder_are_one_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of them runs, not one of each file, and all of them over ten commits."""
    ran = []
    for chosen in range(case_share.TENTH):
        monkeypatch.setattr(case_share, "_chosen", [chosen])
        kept = [Item(f"{folder}/{file}.py::t", case_share.TENTH) for folder in ("a", "b") for file in range(10)]
        for item in kept:
            item.mark = pytest.mark.heavy(family=case_share.LONG).mark
        case_share.leave_out(kept)
        assert [item.nodeid[0] for item in kept] in (["a", "b"], ["b", "a"])
        ran += [item.nodeid for item in kept]
    assert sorted(ran) == sorted(f"{folder}/{file}.py::t" for folder in ("a", "b") for file in range(10))


def test_one_file_runs_its_tests_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = set()
    for chosen in range(case_share.TWENTIETH):
        monkeypatch.setattr(case_share, "_chosen", [chosen])
        kept = [Item(f"tests/remote/{file}.py::{test}", None) for file in "abc" for test in ("x", "y")]
        for item in kept:
            item.fixturenames = ["spark"] if item.nodeid.endswith("x") else []
        case_share.leave_out(kept)
        assert [item.nodeid[-1] for item in kept].count("y") == 3
        (one,) = (item.nodeid for item in kept if item.nodeid.endswith("x"))
        ran.add(one)
    assert len(ran) == 3
