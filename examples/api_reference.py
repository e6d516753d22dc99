"""The API reference: HTML pages made from the docstrings of the public names, with a search box.

    pip install 'dpdb[docs]' && python examples/api_reference.py FOLDER

Open FOLDER/index.html. Nothing is fetched and nothing is run but the imports; a module whose library is not installed
(`dpdb.dbt`) is left out, and the program says so.
"""

from __future__ import annotations

import sys
from functools import cached_property
from importlib import import_module
from pathlib import Path

import pdoc
import pdoc.doc
import pdoc.render

MODULES = (
    "dpdb", "dpdb.jobs", "dpdb.errors", "dpdb.release", "dpdb.ledger", "dpdb.owner", "dpdb.owner.dirt", "dpdb.dbt",
)  # fmt: skip


class WholeClass(pdoc.doc.Class):
    """A class with the members that it inherits inside dpdb: `Session` has its verbs from another file."""

    @cached_property
    def own_members(self) -> list[pdoc.doc.Doc]:
        inside = [
            members for (module, _), members in self._members_by_origin.items() if module.partition(".")[0] == "dpdb"
        ]
        return [member for members in inside for member in members]

    @cached_property
    def inherited_members(self) -> dict[tuple[str, str], list[pdoc.doc.Doc]]:
        return {}  # of `tuple` and `Exception`


def installed(name: str) -> bool:
    try:
        import_module(name)
    except ImportError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return False
    return True


def write_reference(folder: Path) -> tuple[str, ...]:
    """Write the pages; return the modules that they are of."""
    modules = tuple(name for name in MODULES if installed(name))
    pdoc.doc.Class = WholeClass  # pdoc has no other place to say it
    pdoc.render.configure(docformat="numpy", show_source=False, footer_text="dpdb")
    pdoc.pdoc(*modules, output_directory=folder)
    return modules


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/api_reference.py FOLDER")
    print(f"{', '.join(write_reference(Path(sys.argv[1])))}: open {Path(sys.argv[1], 'index.html')}")
