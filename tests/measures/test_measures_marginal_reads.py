"""`marginal` reads what one scan gives at once, but no theta for nothing where each theta costs a scan of its own."""

from dataclasses import dataclass

import pytest
from mechanisms_under_test import Case
from noise_scripts import Zero
from small_graphs import SmallGraph, star

from dpdb.privacy.epsilon import NANO
from dpdb.privacy.noise import replaced_noise


@dataclass(frozen=True)
class Watched(SmallGraph):
    """Remembers which thetas were asked for together."""

    reads: tuple[list[int], ...] = ()

    def _each(self, name, thetas):
        for read in self.reads:
            read.append(tuple(thetas))
        return super()._each(name, thetas)


@pytest.mark.parametrize("measure", ["minimal_inconsistency", "problematic"])
def test_the_stretched_theta_is_read_with_the_grid_or_once_it_is_chosen(measure):
    small = star(40)
    answers, reads = [], []
    for scans_once in (True, False):
        asked = []
        graph = Watched(small.nodes, small.pairs, scans_once=scans_once, reads=(asked,))
        with replaced_noise(Zero()):
            answers.append(Case(measure, "marginal").answer(graph, 10 * NANO))
        reads.append(asked)
    assert answers[0] == answers[1]
    together, apart = reads
    grid = tuple(40 // 3**k for k in reversed(range(4)))  # the cap is the degree bound without noise
    assert apart == [grid, (answers[1].theta,)]
    assert {*grid, answers[0].theta} <= set(together[0])
    assert together[1:] == [(answers[0].theta,)]  # remembered by then
