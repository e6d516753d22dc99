"""Run in a fresh process: one statistic of a thick order rule on generated delays; prints seconds and memory as JSON.

Arguments: rows, values, correlation, statistic (`twice_fractional_cover`, `degrees`), way (`chosen`: as a release does
it; `pairs`: by the kernels that look at pairs of rows).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import numpy as np
from peak import peak_gigabytes

from dpdb.graph import BlockGraph, by_order, load_block_kernels
from dpdb.graph.blocks.block_degrees import counted_from_minority
from dpdb.graph.blocks.block_matching import maximum_matching
from dpdb.graph.steps import finished

rows, values, correlation, statistic, way = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), *sys.argv[4:6]
first, other = np.random.default_rng(1).standard_normal((2, rows))
second = correlation * first + np.sqrt(1 - correlation**2) * other
delays = [np.clip((z + 3) / 6 * values, 0, values - 1).astype(np.int32) for z in (first, second)]
if correlation == 0:
    delays = list(np.random.default_rng(1).integers(0, values, (2, rows)).astype(np.int32))

for kernels in ("twice_fractional_cover", "projected_edges"):
    load_block_kernels(kernels, ordered=True, listed=False, alone=True)
begin = time.process_time()
rule = by_order([], *delays, opposite=True, row_count=rows)
graph = BlockGraph(rows, [rule])
laid_out = time.process_time()
ways: dict[tuple[str, str], Callable[[], int]] = {
    ("twice_fractional_cover", "chosen"): graph.twice_fractional_cover,
    ("twice_fractional_cover", "pairs"): lambda: finished(maximum_matching(graph.blocks, graph.cover)),
    ("degrees", "chosen"): lambda: int(graph.degrees.sum()),
    ("degrees", "pairs"): lambda: int(counted_from_minority(graph.blocks, 0, rule, {}).sum()),
}
answer = ways[statistic, way]()
seconds = time.process_time() - laid_out
print(json.dumps({"answer": answer, "blocks": laid_out - begin, "seconds": seconds, "peak GB": peak_gigabytes()}))
