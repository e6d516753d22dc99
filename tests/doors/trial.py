"""A door tried: draws in pairs from two neighbouring tables, until its attackers' games are decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from excess_loss import LOOKS, Answers, excess_events
from guessing import Game, rightly_said
from release_doors import Door
from sampling import BATCH, Draws, fast_folder

from dpdb.privacy import NOTIONS


@dataclass
class Trial:
    """What was drawn, and the games.

    Attributes
    ----------
    door
    charge
        For one draw.
    games
        Of every attacker, against what is charged.
    control
        Of the first attacker, against half of that, with the same alarm: what it would have said if the same answers
        had been charged half.
    larger, smaller
        The draws.
    """

    door: Door
    charge: int
    games: list[Game]
    control: Game
    larger: Draws
    smaller: Draws

    @property
    def refuted(self) -> bool:
        return any(game.refuted for game in self.games)

    @property
    def decided(self) -> bool:
        return self.refuted or (self.control.refuted and all(game.not_doubled for game in self.games))

    def __str__(self) -> str:
        games = "; ".join(map(str, self.games))
        return f"{self.door.name}, {len(self.larger)} pairs: {games}; against half the charge {self.control}"

    def excess(self, charge: int) -> list[str]:
        """Events whose probabilities differ by more than a charge allows."""
        samples = Answers.of(self.larger), Answers.of(self.smaller)
        guesses = [
            (self.door.guesses(self.larger, attacker), self.door.guesses(self.smaller, attacker))
            for attacker in self.door.attackers
        ]
        return excess_events(*samples, self.door.larger, NOTIONS[self.door.notion], charge, guesses)


def trials(door: Door, folder: Path) -> Iterator[Trial]:
    """The trial of a door after every batch of draws, at most LOOKS times."""
    trial, attackers = None, door.attackers
    with fast_folder(folder) as place:
        samples = door.samples(place, BATCH)
        try:
            for _ in range(LOOKS):
                larger, smaller = next(samples)
                assert larger.charge == smaller.charge, "neighbours are charged differently"
                if trial is None:
                    games = [game(door, larger.charge) for _ in attackers]
                    trial = Trial(door, larger.charge, games, game(door, door.half(larger.charge)), [], [])
                assert larger.charge == trial.charge, "equal draws are charged differently"
                trial.larger += larger.draws
                trial.smaller += smaller.draws
                for attacker, played in ((attackers[0], trial.control), *zip(attackers, trial.games, strict=True)):
                    played.play(door.guesses(larger.draws, attacker), door.guesses(smaller.draws, attacker))
                yield trial
        finally:
            samples.close()


def game(door: Door, charge: int) -> Game:
    return Game(rightly_said(NOTIONS[door.notion], charge), door.reached(charge), door.passes)


def tried(door: Door, folder: Path) -> Trial:
    """The trial when it is decided."""
    for trial in trials(door, folder):
        if trial.decided:
            break
    return trial
