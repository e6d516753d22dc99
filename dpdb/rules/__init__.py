"""The room of rules from elsewhere: constraints in the files of other tools, and oddities in a set of constraints.

Nothing here reads a row. Other tools' files become lines of constraint text, which `dpdb.constraints` reads again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.rules.discovered import DiscoveredRules, recorded_discovery, why_no_name
    from dpdb.rules.found import ImportedRule, LeftOut
    from dpdb.rules.importing import ImportedRules, import_dqd, import_rules
    from dpdb.rules.linting import Finding, lint

__all__ = [
    "DiscoveredRules",
    "Finding",
    "ImportedRule",
    "ImportedRules",
    "LeftOut",
    "import_dqd",
    "import_rules",
    "lint",
    "recorded_discovery",
    "why_no_name",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "discovered": "DiscoveredRules recorded_discovery why_no_name",
            "found": "ImportedRule LeftOut",
            "importing": "ImportedRules import_dqd import_rules",
            "linting": "Finding lint",
        },
    )
