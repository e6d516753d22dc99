"""Two tables compared by a key: how many keys are missing on either side, or have other rows. Above releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.reconciliation.ask import ASKED as ASKED, ComparisonAsk as ComparisonAsk
    from dpdb.reconciliation.at_once import compare as compare, opened_side as opened_side
    from dpdb.reconciliation.prepare import (
        PreparedComparison as PreparedComparison,
        prepare_comparison as prepare_comparison,
        run_comparison as run_comparison,
    )
    from dpdb.reconciliation.tables import (
        ComparedTables as ComparedTables,
        refuse_reached_units as refuse_reached_units,
    )
else:
    __getattr__, __all__ = lazy_names(__name__)
