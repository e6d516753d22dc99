"""The room of rules from elsewhere: constraints in the files of other tools, and oddities in a set of constraints.

Nothing here reads a row. Other tools' files become lines of constraint text, which `dpdb.constraints` reads again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.rules.found import ImportedRule, LeftOut
    from dpdb.rules.importing import ImportedRules, import_dqd, import_rules
    from dpdb.rules.linting import Finding, lint

__all__ = ["Finding", "ImportedRule", "ImportedRules", "LeftOut", "import_dqd", "import_rules", "lint"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "found": "ImportedRule LeftOut",
            "importing": "ImportedRules import_dqd import_rules",
            "linting": "Finding lint",
        },
    )
