"""Every published field of `ladder` is a function of what its proof pays for, whatever the rows are.

Cap, guard, index, reference, position and number are paid for (`LadderAudit` sums their exact joint loss). Two tables
that give the same of these must give the same in all fields: then the fields together lose no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import product

import pytest
from noise_scripts import Script
from small_graphs import SmallGraph, star

from dpdb.measures import with_theta_limits
from dpdb.measures.answer import Answer, release_degree_cap
from dpdb.measures.estimate import with_estimate
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.mechanisms import ladder
from dpdb.measures.registry import measure_named
from dpdb.privacy.epsilon import NANO, split
from dpdb.privacy.noise import replaced_noise

TABLES = [
    SmallGraph(0, ()),
    SmallGraph(4, ()),
    SmallGraph(5, ((0, 1), (1, 2), (3, 4))),
    SmallGraph(3, ((0, 1), (0, 2), (1, 2)), self_conflicts=2),
    star(4, hub_first=True),
]


class Clipped(Script):
    """Prescribed outputs; an index beyond the last one is the last."""

    def noisy_extreme(self, scores: Sequence[int], scale: float, **options: bool) -> int:
        return min(len(scores) - 1, super().noisy_extreme(scores, scale, **options))


def published(
    mechanism: Mechanism, graph: SmallGraph, epsilon: int, paid: tuple[int, ...], climbed: tuple[int, int] | None
) -> Answer:
    """The answer when noise makes the paid numbers what they are told to be; the top's number where nothing climbs."""
    cap, guard, index, reference, number = paid
    share, rest = split(epsilon, (mechanism.cap_weight, 100 - mechanism.cap_weight))
    with replaced_noise(Script((cap,))):
        released = release_degree_cap(graph, share)

    def height_above(*_: object) -> int:
        drawn.outputs = (guard, number, index, reference)
        return 0 if climbed is None else -1

    def climb(start: int, rungs: list[int], *_: object) -> tuple[int, int]:
        position, reached = climbed or (2, number)  # without a top there is nothing but to climb
        return min(position, len(rungs)), reached

    drawn = Clipped((guard, number) if top(mechanism, released, rest) else (index, reference))
    with pytest.MonkeyPatch.context() as patch, replaced_noise(drawn):
        hidden = ladder.HiddenNoise
        patch.setattr(ladder, "draw_hidden_noise", lambda rungs, share: hidden((0,) * (rungs + 1), 65_536e9 / share))
        patch.setattr(ladder, "height_above", height_above)
        patch.setattr(ladder, "climb", climb)
        answer = mechanism.answer(Run(graph, rest, 0.05, released))
    return with_theta_limits(with_estimate(answer, mechanism, 0.05), mechanism, released, None)


def top(mechanism: Mechanism, cap: object, rest: int) -> bool:
    return mechanism.answer.__self__.plan(cap, rest).top is not None


@pytest.mark.heavy
@pytest.mark.parametrize("measure", ["minimal_inconsistency", "problematic"])
@pytest.mark.parametrize("epsilon", [NANO, 5 * NANO])
def test_all_fields_follow_from_what_is_paid_for(measure: str, epsilon: int) -> None:
    mechanism = measure_named(measure).mechanism("ladder")
    seen: dict[str, set[object]] = {field.name: set() for field in fields(Answer)}
    for cap, index, number in product((1, 40, 5_000), (0, 1, 2), (-70_000, 3 << 16, 90 << 16)):
        for climbed in (None, (0, number), (1, number), (3, number)):
            paid = (cap, 5, index, 7, number)
            answers = {published(mechanism, graph, epsilon, paid, climbed) for graph in TABLES}
            assert len(answers) == 1, (paid, climbed, answers)
            for field in fields(Answer):
                seen[field.name] |= {getattr(answer, field.name) for answer in answers}
    vary = {"value", "raw", "theta", "noise_scale", "handicaps", "draw_share", "theta_limits", "estimate_upper"}
    assert all(len(seen[name]) > 1 for name in vary), seen
