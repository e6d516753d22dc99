"""Statistics of conflict graphs that are groups of rows cut into classes: closed forms of the sizes of the classes.

Two rows are in conflict iff they are of one group and of different classes of it, so each group is a complete
multipartite graph. Of a group of n rows let n_1 >= n_2 >= ... be the sizes of its classes, N_E and S_E the sums of n_c
and of n_c^2 over a set E of classes, and P_j, S_j those over the j largest.

LP truncation
-------------
2 Q(theta) = min over j >= 0 of the lesser of
    f(j) = theta (n - P_j) + n P_j - S_j        and        g(j) = 2 theta (n - P_j) + P_j^2 - S_j.

Proof. 2 Q(theta) is the maximum flow through the double cover with node capacities theta and edge capacities 1
(`lp_truncation`), hence its minimum cut: choose the rows on the left that stay joined to the source, a_c of class c, p
in all; a row of class c on the right costs the lesser of theta and p - a_c. So with C the classes whose rows on the
right stay joined to the sink, the cut costs theta (n - p) + theta (n - N_C) + sum over c in C of n_c (p - a_c). This is
linear in each a_c, which is 0 or n_c in a minimum. The coefficient of a_c is N_C - theta, less n_c if c is in C.
- If N_C < theta all a_c are n_c, and the cut costs theta (n - N_C) + n N_C - S_C = f(C).
- Else a_c = 0 outside C, and with E the classes of C that have a_c = n_c the cut costs
  2 theta n - theta (N_C + N_E) + N_E N_C - S_E: linear in N_C for any C that contains E, so least for C all classes,
  where it is f(E), or for C = E, where it is g(E).
Conversely all f(E) and g(E) are cuts. Over sets E, f(E) = theta n + sum over E of n_c (n - theta - n_c) is least where
E is {c: n_c > n - theta}: some j largest. One more class c changes g(E) by 2 n_c (N_E - theta). Take a minimal g(E),
and c in E, d outside with n_d >= n_c: taking c away does not gain, so N_E - n_c <= theta, and d instead of c changes
g(E) by 2 (n_d - n_c) (N_E - n_c - theta) <= 0. So some j largest are as good. QED

Of a run of classes of equal size s only the ends need be looked at, so that a key of any size costs the same: f is
linear in P_j there; and if a minimal g(E) has some of them, not all, then with F, E without one of them, N_F <= theta
as above and n >= N_F + 2 s, so g(E) - f(F) = (n - N_F - 2 s) (theta - N_F) >= 0.

Witness bound
-------------
W*(theta) = min(n, (1 + theta) (n - n_1)). One more row changes it by 0 to theta + 1: n grows by 1; n - n_1 stays if the
row joins a largest class, and otherwise stays or grows by 1, so min(n, (1 + theta) (n - n_1)) grows by at most
max(1, theta + 1), and never falls. It is at most the number of rows in conflict (0 if there is one class only, else n),
and equals it once theta + 1 >= n / (n - n_1), so for every theta that is at least the greatest degree.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.listed.listed_edges import check_theta
from dpdb.thresholds import SMALL_SQUARES

_Array = NDArray[np.int64]


class Histogram:
    """Groups of rows by the sizes of their classes.

    Sensitivities are of every number that is returned for one theta: one more row is in one class of one group.

    Parameters
    ----------
    sizes : array of int
        Sizes of classes, in any order within each kind of group.
    starts : array of int
        Where each kind begins in `sizes`, and the end: one number more than there are kinds.
    singles : array of int
        For each kind, the number of further classes, of one row each.
    groups : array of int
        For each kind, the number of its groups.
    """

    def __init__(self, sizes: _Array, starts: _Array, singles: _Array, groups: _Array) -> None:
        counts = np.diff(starts)
        kinds = np.repeat(np.arange(groups.size), counts)
        # The singles are a run of their own; runs of equal classes within a kind are put together.
        kinds = np.concatenate([kinds, np.arange(groups.size)])
        sizes = np.concatenate([sizes, np.ones(groups.size, np.int64)])
        times = np.concatenate([np.ones(counts.sum(), np.int64), singles])
        kept = times > 0
        kinds, sizes, times = kinds[kept], sizes[kept], times[kept]
        order = np.lexsort((-sizes, kinds))
        kinds, sizes, times = kinds[order], sizes[order], times[order]
        first = np.flatnonzero(np.r_[True, (kinds[1:] != kinds[:-1]) | (sizes[1:] != sizes[:-1])][: kinds.size])
        size, times = sizes[first], _summed(times, first)
        kinds = kinds[first]
        self._first = np.flatnonzero(np.r_[True, kinds[1:] != kinds[:-1]][: kinds.size])
        present = kinds[self._first]
        self._groups = groups[present]
        rows = _summed(size * times, self._first)
        if float((rows.astype(float) * self._groups).sum()) >= SMALL_SQUARES.at:
            size, times = size.astype(object), times.astype(object)
            self._groups, rows = self._groups.astype(object), rows.astype(object)
        self._rows, self._largest_class = rows, size[self._first]
        self._kind = np.repeat(np.arange(present.size), np.diff(np.r_[self._first, kinds.size]))
        # P and S at the end of each run.
        self._taken = _running(size * times, self._first, self._kind)
        self._taken_squares = _running(size * size * times, self._first, self._kind)

    @property
    def largest_group(self) -> int:
        """Rows of the largest group; one more row changes it by 0 or 1."""
        return int(self._rows.max(initial=0))

    def twice_truncated_edges(self, thetas: Sequence[int]) -> list[int]:
        """Return 2 Q(theta) for each theta: monotone, of sensitivity 2 theta (proof: `dpdb.graph.exact.lp_truncation`).

        Raises
        ------
        ParameterError
            If a theta is not an integer or is below 1.
        """
        return [self._twice_truncated(check_theta(theta)) for theta in thetas]

    def witness_bounds(self, thetas: Sequence[int]) -> list[int]:
        """Return the sum of W*(theta) for each theta: monotone, of sensitivity theta + 1. Errors as above."""
        return [self._witness_bound(check_theta(theta)) for theta in thetas]

    def _within(self, theta: int) -> _Array:
        """Return theta for each kind, capped at the number of the group's rows: a larger theta bounds nothing."""
        return np.minimum(self._rows, min(theta, self.largest_group)).astype(self._rows.dtype)

    def _twice_truncated(self, theta: int) -> int:
        if not self._rows.size:
            return 0
        limit = self._within(theta)[self._kind]
        n, p, s = self._rows[self._kind], self._taken, self._taken_squares
        best = np.minimum(limit * n, np.minimum(limit * (n - p) + n * p, 2 * limit * (n - p) + p * p) - s)
        return int((np.minimum.reduceat(best, self._first) * self._groups).sum())

    def _witness_bound(self, theta: int) -> int:
        bound = (1 + self._within(theta)) * (self._rows - self._largest_class)
        return int((np.minimum(self._rows, bound) * self._groups).sum())


def _summed(values: _Array, first: _Array) -> _Array:
    return np.add.reduceat(values, first) if first.size else values[:0]


def _running(values: _Array, first: _Array, kind: _Array) -> _Array:
    """Sum up to the end of each run of its kind."""
    total = np.cumsum(values)
    return total - (total - values)[first][kind] if first.size else total
