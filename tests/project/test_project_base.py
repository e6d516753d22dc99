"""The trusted base: its size is told, its border is held, and the page for reviewers names what exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_project_folders import PACKAGE, code_lines
from test_project_imports import CONTRACTS, ROOT, imports, modules

from dpdb.face_names import FACES
from dpdb.measures import all_measures

(BORDER,) = (contract for contract in CONTRACTS if contract["name"].startswith("Outside the trusted base"))
PAGE = ROOT / "examples" / "manual" / "reviewing.md"
# Where the names of `dpdb.settings` are at home: modules of settings, words and addresses.
PUBLIC_HOMES = {
    "dpdb.engine.interface": {"Progress", "no_progress"},
    "dpdb.engine.sql.joins": {"NESTED_LOOP_ROWS"},
    "dpdb.engine.table_spec": {*("LIMITS", "SETTINGS", "TableSettings", "TableSpec", "with_settings")},
    "dpdb.opening": {"has_tables", "is_remote"},
    "dpdb.sources.open": {"is_address", "refuse_url"},
    "dpdb.sources.source": {"column_definition"},
}
# Names that a face of the base shows, at home in a module that yields exact values: module outside and home.
OWNERS = {("dpdb.doors.cli.commands.exact", "dpdb.suites.truth")}


def within(module: str, packages: list[str]) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def module_of(path: Path) -> str:
    return ".".join(["dpdb", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")


def home(face: str, name: str) -> str:
    """Return the module in which a name is at home, through all faces that show it."""
    for module, names in FACES.get(face, {}).items():
        if name in names.split():
            return home(module, name)
    return f"{face}.{name}" if f"{face}.{name}" in modules() else face


def crossings() -> Iterator[tuple[str, str, str]]:
    """Module outside, module that it names, and forbidden home of what it imports."""
    for module in filter(lambda one: within(one, BORDER["source_modules"]), modules()):
        for source, name in imports(module):
            at = home(source, name) if name else source
            if source != "dpdb.settings" and within(at, BORDER["forbidden_modules"]):
                yield module, source, at


def test_no_module_outside_the_base_imports_rows_or_exact_statistics_through_a_face() -> None:
    """The contract sees modules alone; here each name is followed to its home, also those for type checkers."""
    allowed = {tuple(line.split(" -> ")) for line in BORDER["ignore_imports"]}
    used = set()
    strange = []
    for module, source, at in crossings():
        known = {(module, one) for one in (source, at)} & allowed
        used |= known | ({(module, at)} & OWNERS)
        if not known and (module, at) not in OWNERS:
            strange.append(f"{module} -> {source} ({at})")
    assert strange == [], "import what is published, or name the owner's command in the contract"
    assert used == allowed | OWNERS


def test_a_name_is_followed_through_faces() -> None:
    assert home("dpdb.suites", "ExactCheck") == "dpdb.suites.truth"
    assert home("dpdb.settings", "TableSpec") == "dpdb.engine.table_spec"
    assert home("dpdb.release", "PrivateSlices") == "dpdb.release.statistics"


@pytest.mark.parametrize("line", ["from dpdb.release import PrivateSlices", "from dpdb.engine import Slice"])
def test_a_door_that_reads_rows_would_be_noticed(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    door = "dpdb.doors.cli.commands.count"
    monkeypatch.setitem(modules(), door, ast.parse(line))
    assert any(module == door for module, _, _ in crossings())


def test_the_face_of_settings_yields_no_row() -> None:
    shown = [name for names in FACES["dpdb.settings"].values() for name in names.split()]
    found: dict[str, set[str]] = {}
    for name in shown:
        found.setdefault(home("dpdb.settings", name), set()).add(name)
    assert found == PUBLIC_HOMES


def test_the_sizes_of_the_tiers_are_told() -> None:
    """Rounded to hundreds, within a twentieth: growth of the base is seen."""
    section = (PACKAGE / "README.md").read_text().partition("## The trusted base")[2].partition("\n## ")[0]
    told = re.findall(r"^\| [^|]+ \| ([a-z, ]+) \| ([\d,]+) \|", section, flags=re.MULTILINE)
    rooms = [names.split(", ") for names, _ in told]
    assert rooms[:2] == [
        ["privacy", "measures", "release", "ledger", "overlap"],
        ["sources", "engine", "graph", "remote", "database"],
    ]
    for names, lines in told:
        paths = [path for name in names.split(", ") for path in (PACKAGE / name).rglob("*.py")]
        inside = [path for path in paths if not within(module_of(path), BORDER["source_modules"])]
        real = sum(code_lines(path.read_text()) for path in inside)
        assert abs(real - int(lines.replace(",", ""))) <= real / 20, f"{names}: {real}"


# What modules of these rooms that stand outside may name of the noise and of a ledger: its laws, and readings.
LAWS = {*("UNIT", "HandicappedNoise", "Notion"), *("gaussian_tail", "laplace_tail")} | {
    *("difference_tail", "laplace_difference_tail"),
}
READINGS = ("amounts", "limits", "lines", "store.clock", "store.periods", "store.rows", "store.state")


def test_modules_of_its_rooms_that_stand_outside_neither_draw_nor_write() -> None:
    """They show what was published and recorded: so they are not counted."""
    shown = ("dpdb.ledger.lines", "dpdb.ledger.report", "dpdb.release.published", "dpdb.release.verbs")
    assert set(shown) <= set(BORDER["source_modules"])
    named = [found for module in modules() if within(module, [*shown]) for found in imports(module)]
    assert {name for source, name in named if within(source, ["dpdb.privacy"])} <= LAWS
    ledger = {source for source, _ in named if within(source, ["dpdb.ledger"])}
    assert ledger <= {f"dpdb.ledger.{name}" for name in READINGS}


# -- the page for reviewers -------------------------------------------------------------------------------------------


def test_the_page_names_files_and_tests_that_exist() -> None:
    named = set(re.findall(r"`((?:dpdb|tests|examples)/[\w/]+(?:\.py)?)(?:::(\w+))?[`/]", PAGE.read_text()))
    assert len(named) > 50
    for path, test in named:
        assert (ROOT / path).exists(), path
        assert not test or f"def {test}(" in (ROOT / path).read_text(), f"{path}::{test}"


def test_the_page_has_every_mechanism() -> None:
    text = PAGE.read_text()
    mechanisms = {mechanism.name for measure in all_measures() for mechanism in measure.mechanisms}
    assert {name for name in mechanisms if f"`{name}`" not in text} == set()
