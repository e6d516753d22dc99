"""`ladder`: theta as `marginal` chooses it, but a larger theta wherever its answer stands out.

Sensitivity
-----------
That of the statistic at theta: theta + extra (`ProjectedStatistic`, with proofs).

Proof
-----
In `Ladder`, section Privacy; the climb's own proof is in `dpdb.privacy.climbing`.

Source
------
New here; the choice of the first theta is that of `marginal`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpdb.measures.answer import Answer, DegreeCap, ProjectedStatistic, noisy_answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.privacy import (
    UNIT,
    HandicappedNoise,
    HiddenNoise,
    climb,
    discrete_laplace,
    draw_hidden_noise,
    height_above,
    in_units,
    marginal_choice,
    split,
    tripling_grid,
)

_LARGEST_CAP = 2**32  # rows are numbered with 32 bits
_MARGIN_AT = 50  # the sensitivity at which a rung's margin is `Rungs.margin`


@dataclass(frozen=True)
class Rungs:
    """Larger thetas (rungs) to try after the choice of a theta. All public.

    Attributes
    ----------
    reach, step : Fraction
        The greatest rung is `reach` times the cap; each other rung is the next greater one divided by `step`.
    least : int
        The least sensitivity of a rung.
    gap : int
        A rung's sensitivity is at least this many times that of the chosen theta.
    margin, growth : float
        By how many scales of its noise a rung must exceed the answer at the chosen theta: margin + growth ln(S / 50).
    """

    count: int
    reach: Fraction
    step: Fraction
    least: int
    gap: int
    margin: float
    growth: float

    def thetas(self, cap: int, size: Callable[[int], int]) -> tuple[int, ...]:
        """Return the rungs that some choice of theta may use, ascending; `size` is the sensitivity."""
        thetas = {math.ceil(cap * self.reach / self.step**k) for k in range(self.count)}
        return tuple(theta for theta in sorted(thetas) if size(theta) >= self.least and self.is_far(theta, 1, size))

    def is_far(self, rung: int, theta: int, size: Callable[[int], int]) -> bool:
        """Return whether a rung is far enough above a theta.

        Parameters
        ----------
        theta
            The chosen theta.
        size : function of theta to int
            The sensitivity at a theta.
        """
        return size(rung) >= self.gap * size(theta)

    def margin_at(self, sensitivity: int) -> float:
        """Return the margin in scales of the rung's noise."""
        return self.margin + self.growth * math.log(sensitivity / _MARGIN_AT)


@dataclass(frozen=True)
class Top:
    """The cap itself as theta, tried first, with the epsilon that the choice would cost. All public.

    Attributes
    ----------
    least : int
        The top is not tried if the cap's sensitivity is smaller.
    guard : int
        The statistic at a theta this many times smaller (the guard) is no evidence for the cap.
    margin : float
        By how many scales of the test's noise the answer at the cap must exceed the guard's.
    floor, growth : float
        An answer below floor + growth ln S scales of its own noise S / epsilon is given as 0.
    """

    least: int
    guard: int
    margin: float
    floor: float
    growth: float


@dataclass(frozen=True)
class Settings:
    """Constants for a range of epsilon. All public.

    Attributes
    ----------
    select : int
        Share of epsilon for the choice, in percent; the rest is for the answer.
    price : Fraction
        Of each doubling of theta; see `marginal_choice`.
    stretch : Fraction
        The answer's theta is this many times the chosen one, rounded up.
    stretch_from : int
        A smaller chosen theta is not stretched: from 1 to 2 the noise doubles at once.
    above : int
        The candidates reach this many scales of the cap's noise above the cap, which may be below the degrees.
    """

    select: int
    price: Fraction
    stretch: Fraction
    stretch_from: int
    above: int
    rungs: Rungs | None = None
    top: Top | None = None


@dataclass(frozen=True)
class Plan:
    """The plan of one ladder release: its thetas and their nano-epsilon; public once the cap is released.

    Attributes
    ----------
    grid : tuple of int
        Candidates for theta; if there is only one, `answer` is all of epsilon and nothing else is drawn.
    rungs : tuple of int
        Thetas, ascending.
    top : (int, int) or None
        Theta of the top and of its guard.
    guard, undivided, choice, reference, answer : int
        Either guard + undivided is epsilon (an accepted top) or guard + choice + reference + answer.
    """

    settings: Settings
    grid: tuple[int, ...]
    rungs: tuple[int, ...]
    top: tuple[int, int] | None
    guard: int
    undivided: int
    choice: int
    reference: int
    answer: int

    @property
    def others(self) -> int:
        """Number of possible answers besides the start's."""
        return len(self.rungs) + (self.top is not None)

    @property
    def top_share(self) -> Fraction:
        """The top's part of beta: half of it, because a top that is tried is mostly published."""
        return Fraction(1, 2) if self.top else Fraction(0)

    @property
    def rung_share(self) -> Fraction:
        """Each rung's part of beta: all rungs together have half of the part that the top leaves."""
        return (1 - self.top_share) / (2 * len(self.rungs)) if self.rungs else Fraction(0)

    @property
    def thetas(self) -> list[int]:
        """Every theta that may be read."""
        stretched = map(self.stretched, self.grid) if len(self.grid) > 1 else ()
        return sorted({*self.grid, *stretched, *self.rungs, *(self.top or ())})

    def stretched(self, theta: int) -> int:
        """Theta of the answer for a chosen one."""
        return theta if theta < self.settings.stretch_from else math.ceil(theta * self.settings.stretch)


@dataclass(frozen=True)
class _Published:
    """The number that is published, out of several candidates.

    Attributes
    ----------
    theta, number : int
        The number is in units.
    noise : HandicappedNoise
        In units too.
    share : Fraction
        The part of beta for this number; all candidates under the same public choices share one beta.
    share_below : Fraction
        The part of beta for noise below its tail; see `Ladder`, section Interval.
    """

    theta: int
    number: int
    noise: HandicappedNoise
    share: Fraction
    share_below: Fraction


@dataclass(frozen=True)
class Ladder:
    """A `ladder` mechanism for one statistic g, monotone with sensitivity S(theta) = theta + extra, or copies of that.

    `marginal` chooses a small theta where few rows have nearly all conflicts: their sum is within the noise of a large
    theta as long as it is asked for alone. Here larger thetas are tried all the same, and what does not stand out of
    the noise costs nothing.

    1. Candidates S = (1 + extra) 3^k up to the first theta that is some noise scales above the released cap. If there
       is one only, all of epsilon is for its answer.
    2. Top, where the cap is large: g(cap) + noise, with all of epsilon but the guard's. Published if it exceeds what a
       release at a far smaller theta (the guard) explains.
    3. Else theta is chosen by `marginal_choice`, stretched, and `climb` starts from there: the answer is that of the
       highest rung that exceeds a second release at the chosen theta (the reference) by a margin, or the start's.

    Privacy
    -------
    Every g(theta) + U is monotone and one row changes it by at most S(theta). Let g be the guard's share (0 without a
    top), s the choice's, r the reference's (0 without rungs), b the rest: g + s + r + b = epsilon. The guard is a
    release of its own. If the top is accepted, the outcome's probability is that of the noisy top, released with
    s + r + b, times that of the acceptance given the top, the guard and hidden noise, which no row touches: epsilon. If
    it is refused, that of the index times that of the reference (released at the chosen theta; neither depends on the
    hidden noise) times that of the position and number of `climb` together with the refusal, which is b-DP for given
    thresholds: epsilon. What is hidden (guard, reference, index of an accepted top) only adds up outcomes. Grids,
    rungs, thetas and thresholds are public given cap, guard, index and reference. QED

    Interval
    --------
    With probability at least 1 - beta, whatever is published, g at its theta (+ U) is in [estimate_lower,
    estimate_upper]. Let T be cap, guard, index and reference, the last two as if always drawn. Given T, positions,
    thetas, exact units x(k) and thresholds t(k) are constants, and the rest of the noise is independent of T. Position
    k = 0 ... r has the number w(k) = x(k) + N(k), N(k) being `HandicappedNoise` with k handicaps; the top has x + N.
    Let the shares s(k) and s(top), functions of T, add up to 1, and the tails be such that

        Pr[N(k) > a(k)] <= s(k) beta / 2                    for every position, the top too,
        Pr[N(k) < -b(k)] <= (1 - s(top)) beta / 2           for the start and every rung,
        Pr[N < -b] <= s(top) beta / 2                       for the top.

    That some noise, published or not, exceeds its a has probability at most beta / 2 (union bound), that the top's is
    below its -b at most s(top) beta / 2. It remains that the start or a rung k is published with N(k) < -b(k). Let K be
    the highest rung with x(K) - b(K) >= t(K), or the start if there is none. A rung k > K is not published with
    N(k) < -b(k), because then w(k) < x(k) - b(k) < t(k). A position k < K is only published if w(K) < t(K), hence
    N(K) < -b(K); so this is the case whenever a position up to K is published with its noise below its tail, and that
    has probability at most (1 - s(top)) beta / 2. Together: beta given T, so also over T.

    UNIT (g + U) / S - 1 < x <= UNIT (g + U) / S, so a number v with noise in [-b, a] means that UNIT (g + U) / S is at
    least v - a and less than v + b + 1; g + U is an integer. `lower` bounds one side only, which leaves all of
    s(k) beta for a(k). QED

    A smaller tail given the position would not do: where a rung is out of reach unless its noise is above a(k), its
    every publication is off.

    Attributes
    ----------
    cap : int
        Share of epsilon for the degree cap, in percent.
    tiers : tuple of (int, Settings)
        The constants in use from this nano-epsilon (left after the cap) on; ascending, the first from 0.
    """

    statistic: ProjectedStatistic
    cap: int
    tiers: tuple[tuple[int, Settings], ...]

    def plan(self, cap: DegreeCap, epsilon: int) -> Plan:
        """Return the plan for a released cap and the rest of epsilon."""
        settings, size = self._settings(epsilon), self.statistic.in_one_graph
        highest = min(cap.value, _LARGEST_CAP)
        grid = tripling_grid(highest + math.ceil(settings.above * cap.scale), self.statistic.extra)
        if len(grid) == 1:
            return Plan(settings, grid, (), None, 0, 0, 0, 0, epsilon)
        top, guard, undivided = None, 0, epsilon
        if settings.top and size(highest) >= settings.top.least:
            top = highest, max(1, size(highest) // settings.top.guard - self.statistic.extra)
            guard, undivided = split(epsilon, (1, settings.top.guard - 1))
        choice, answer = split(undivided, (settings.select, 100 - settings.select))
        rungs, reference = settings.rungs.thetas(highest, size) if settings.rungs else (), 0
        if settings.rungs and rungs:
            reference, answer = split(answer, (1, settings.rungs.gap))
        return Plan(settings, grid, rungs, top, guard, undivided, choice, reference, answer)

    def thetas(self, cap: DegreeCap, epsilon: int) -> Sequence[int]:
        """Every theta that may be read once the cap is released."""
        return self.plan(cap, epsilon).thetas

    def release(self, run: Run) -> Answer:
        """Release as the class says; `lower` and the interval of the estimand hold whichever branch is taken."""
        plan = self.plan(run.released_cap, run.epsilon)
        if len(plan.grid) == 1:
            return noisy_answer(self.statistic, run.statistics, plan.grid[0], plan.answer, run.beta)
        if run.statistics.scans_once:  # one scan for all that may follow
            self.statistic.read(run.statistics, plan.thetas)
        hidden = draw_hidden_noise(len(plan.rungs), plan.answer) if plan.others else None
        if hidden and plan.top:
            answer = self._at_top(run, plan, hidden)
            if answer:
                return answer
        exact = self.statistic.read(run.statistics, plan.grid)
        sensitivities = [self.statistic.sensitivity(theta) for theta in plan.grid]
        chosen = marginal_choice(exact, sensitivities, plan.settings.price, plan.choice)
        theta = plan.stretched(plan.grid[chosen])
        if hidden is None:
            return noisy_answer(self.statistic, run.statistics, theta, plan.answer, run.beta)
        return self._from(theta, run, plan, hidden)

    def mechanism(self, name: str, noise: str) -> Mechanism:
        """Return it as a named mechanism."""
        share = Fraction(100 - self.cap, 100) * Fraction(100 - self.tiers[-1][1].select, 100)
        rest = 100 - self.cap
        return Mechanism(
            name,
            self.release,
            share,
            self.statistic.name,
            noise,
            cap_weight=self.cap,
            answer_weight=rest,
            thetas=self.thetas,
        )

    def _settings(self, epsilon: int) -> Settings:
        return [settings for least, settings in self.tiers if epsilon >= least][-1]

    def _at_top(self, run: Run, plan: Plan, hidden: HiddenNoise) -> Answer | None:
        """Return the answer at the cap if it stands out."""
        assert plan.top is not None
        assert plan.settings.top is not None
        (theta, lower), top = plan.top, plan.settings.top
        size = self.statistic.sensitivity(theta)
        exact = self.statistic.exact(run.statistics, theta)
        # The guard enters one comparison only: its noise is drawn first, and mostly bounds of its statistic decide.
        seen = self._bracket(run, lower)
        guard, _ = discrete_laplace(seen.high, self.statistic.sensitivity(lower), plan.guard)
        number, scale = discrete_laplace(in_units(exact, size), UNIT, plan.undivided)
        margin = math.ceil(top.margin * hidden.scale)
        height = height_above(number, hidden, margin + in_units(guard, size), plan.answer)
        if not seen.passes(lambda value: height + in_units(guard, size) >= in_units(guard + value - seen.high, size)):
            return None
        published = _Published(theta, number, HandicappedNoise(scale, 0), plan.top_share, plan.top_share)
        least = scale * (top.floor + top.growth * math.log(self.statistic.in_one_graph(theta)))
        return self._answer(published, run.beta, insignificant=number < least)

    def _from(self, theta: int, run: Run, plan: Plan, hidden: HiddenNoise) -> Answer:
        """Climb from the chosen theta."""
        settings, size, in_one = plan.settings.rungs, self.statistic.sensitivity, self.statistic.in_one_graph
        rungs = [rung for rung in plan.rungs if settings and settings.is_far(rung, theta, in_one)]
        thresholds = []
        if settings and rungs:
            exact = self.statistic.exact(run.statistics, theta)
            reference, _ = discrete_laplace(exact, size(theta), plan.reference)
            margins = [math.ceil(settings.margin_at(in_one(rung)) * hidden.scale) for rung in rungs]
            thresholds = [m + in_units(reference, size(rung)) for m, rung in zip(margins, rungs, strict=True)]
        brackets = [self._bracket(run, each) for each in (theta, *rungs)]
        position, number = self._climb(brackets, [size(each) for each in (theta, *rungs)], thresholds, hidden)
        climbed = 1 - plan.top_share
        share = plan.rung_share if position else climbed - len(rungs) * plan.rung_share
        noise = HandicappedNoise(hidden.scale, position)
        return self._answer(_Published((theta, *rungs)[position], number, noise, share, climbed), run.beta)

    def _climb(
        self, brackets: list[Bracket], sizes: Sequence[int], thresholds: Sequence[int], hidden: HiddenNoise
    ) -> tuple[int, int]:
        """Climb by exact numbers, computing only those that may be published: refused at an upper bound is refused."""
        brackets[0] = brackets[0].exact()
        while True:
            numbers = [in_units(bracket.high, size) for bracket, size in zip(brackets, sizes, strict=True)]
            position, number = climb(numbers[0], numbers[1:], thresholds, hidden.draws)
            if brackets[position].low == brackets[position].high:
                return position, number
            brackets[position] = brackets[position].exact()

    def _answer(self, published: _Published, beta: float, *, insignificant: bool = False) -> Answer:
        """Return a number in units as an answer, 0 if it is insignificant, with its bounds."""
        size = self.statistic.sensitivity(published.theta)
        number, noise = published.number, published.noise
        # On average a rung's number is too low by the handicaps below it.
        raw = round(Fraction(number - noise.mean) * size / UNIT)
        value = 0 if insignificant else raw

        def at_least(allowed: Fraction) -> int:
            """Bound the exact statistic with its noise's tail; rounding may not lift the bound above the answer."""
            return min(value, raw, math.ceil(Fraction(number - noise.above(beta * float(allowed))) * size / UNIT))

        above = number + noise.below(beta * float(published.share_below) / 2) + 1
        return Answer(
            value=value,
            raw=raw,
            lower=at_least(published.share),
            upper_reason=self.statistic.upper_reason,
            theta=published.theta,
            noise_scale=noise.scale * size / UNIT,
            estimand=self.statistic.estimand,
            estimate_lower=at_least(published.share / 2),
            estimate_upper=max(raw, math.ceil(Fraction(above) * size / UNIT) - 1),
            handicaps=noise.handicaps,
            draw_share=float(published.share),
        )

    def _bracket(self, run: Run, theta: int) -> Bracket:
        """Return the bounds of the exact statistic that are known without a scan."""
        own = run.statistics.self_conflicts
        low, high = self.statistic.between(run.statistics, theta)
        return Bracket(own + low, own + high, lambda: self.statistic.exact(run.statistics, theta))


@dataclass(frozen=True)
class Bracket:
    """An exact number between two known bounds. Tests on it give the same results as on the number itself.

    Attributes
    ----------
    low, high : int
        The number is at least `low` and at most `high`. Private, like the number.
    """

    low: int
    high: int
    compute: Callable[[], int]

    def exact(self) -> Bracket:
        """Return the number, computed, as a bracket."""
        if self.low == self.high:
            return self
        value = self.compute()
        return Bracket(value, value, lambda: value)

    def passes(self, test: Callable[[int], bool]) -> bool:
        """Return `test` of the number; the result of `test` may change at most once as the number grows."""
        at_high = test(self.high)
        return at_high if test(self.low) == at_high else test(self.exact().high)
