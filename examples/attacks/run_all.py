"""All attacks, one after the other: `python examples/attacks/run_all.py`. Takes some minutes."""

from __future__ import annotations

import error_messages
import many_constraints
import refusal_times
import removed_row
import replay
import slice_averaging

if __name__ == "__main__":
    for module in (removed_row, refusal_times, many_constraints, error_messages, slice_averaging, replay):
        for found in module.attack():
            print(found, flush=True)
