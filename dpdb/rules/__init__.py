"""The package of rules from elsewhere: constraints in the files of other tools, and oddities in a set of constraints.

Nothing here reads a row. Other tools' files become lines of constraint text, which `dpdb.constraints` reads again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.rules.discovered import (
        DiscoveredRules as DiscoveredRules,
        recorded_discovery as recorded_discovery,
        why_no_name as why_no_name,
    )
    from dpdb.rules.found import ImportedRule as ImportedRule, LeftOut as LeftOut
    from dpdb.rules.importing import (
        ImportedRules as ImportedRules,
        import_dqd as import_dqd,
        import_rules as import_rules,
        import_tables as import_tables,
    )
    from dpdb.rules.linting import Finding as Finding, lint as lint
else:
    __getattr__, __all__ = lazy_names(__name__)
