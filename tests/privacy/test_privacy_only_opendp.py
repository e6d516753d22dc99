"""One module draws noise, only through OpenDP; no other random numbers decide a release."""

import ast
from functools import cache
from pathlib import Path

import pytest

import dpdb

ROOT = Path(dpdb.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
PRIVATE_ROOMS = (
    "suites", "reconciliation", "privacy", "measures", "release", "graph", "remote", "engine", "sources", "database",
    "predicates", "constraints",
)  # fmt: skip
RELEASE_IDS = Path("release/parts.py")
RUN_IDS = Path("release/account.py")  # names of runs that nobody named
LEDGER_KEYS = Path("ledger/store/seals.py")
RECEIPT_KEYS = Path("receipts/notes.py")  # keys that sign receipts
TOKENS = Path("doors/server/analysts.py")
OUTSIDE = {  # beside these: what is drawn there is a secret of its own, or nothing
    LEDGER_KEYS: {"secrets"}, RECEIPT_KEYS: {"secrets"}, TOKENS: {"secrets"},
    Path("doors/cli/lineage.py"): {"uuid"},  # names runs: of the same run the same, of one that reads no row another
    Path("doors/server/postgres/connection.py"): {"secrets"},  # keys by which a client cancels
    Path("doors/server/postgres/scram.py"): {"secrets"},  # nonces
}  # fmt: skip


@cache
def imported(tree: ast.AST) -> set[str]:
    """Dotted names that a module imports."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def random_uses(tree: ast.AST) -> set[str]:
    """Sources of randomness that a module could draw from."""
    found = {name for name in imported(tree) if name.split(".")[0] in ("random", "secrets", "uuid")}
    found |= {name for name in imported(tree) if name.startswith(("numpy.random", "os.urandom", "scipy.stats"))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("random", "urandom", "getrandom", "default_rng"):
            found.add(node.attr)
    return found


@cache
def parsed(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_one_module_imports_opendp():
    users = [str(p.relative_to(ROOT)) for p in SOURCES if any(n.split(".")[0] == "opendp" for n in imported(parsed(p)))]
    assert users == ["privacy/noise.py"]


@pytest.mark.parametrize("room", PRIVATE_ROOMS)
def test_no_other_randomness_in_the_private_rooms(room):
    paths = [path for path in SOURCES if path.relative_to(ROOT).parts[0] == room]
    if not paths:
        pytest.skip("no such room yet")
    for path in paths:
        allowed = {"secrets"} if path.relative_to(ROOT) in (RELEASE_IDS, RUN_IDS) else set()
        assert random_uses(parsed(path)) <= allowed, path


def test_other_rooms_use_numpy_generators_only():
    """Synthetic noise, and searches over public predicates."""
    for path in SOURCES:
        if path.relative_to(ROOT).parts[0] not in PRIVATE_ROOMS:
            allowed = OUTSIDE.get(path.relative_to(ROOT), {"default_rng", "random"})
            assert random_uses(parsed(path)) <= allowed, path


@pytest.mark.parametrize(
    ("user", "call"),
    [
        (RELEASE_IDS, "token_hex"),
        (RUN_IDS, "token_hex"),
        (LEDGER_KEYS, "token_bytes"),
        (RECEIPT_KEYS, "token_bytes"),
        (TOKENS, "token_urlsafe"),
    ],
)
def test_ids_keys_and_tokens_are_the_only_uses_of_secrets(user, call):
    source = (ROOT / user).read_text(encoding="utf-8")
    attributes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    used = [node.attr for node in attributes if ast.unparse(node.value) == "secrets"]
    assert used == [call]


def test_only_tests_replace_the_noise():
    defined = ROOT / "privacy" / "noise.py"
    for path in SOURCES:
        if path != defined:
            assert "replaced_noise" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.normal()",
        "import secrets",
        "import os\nos.urandom(3)",
        "from scipy.stats import laplace",
    ],
)
def test_the_scan_sees_what_it_must(text):
    assert random_uses(ast.parse(text))
