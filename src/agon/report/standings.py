"""Cleaned battles to a board, with words for what its numbers rest on."""

from dataclasses import dataclass, replace

import numpy as np

from agon.core.errors import InvalidInput
from agon.ranking.battles import CodedBattles
from agon.ranking.cleaning import Cleaned
from agon.ranking.goodness import GoodnessOfFit, goodness_of_fit
from agon.ranking.leaderboard import Leaderboard
from agon.ranking.methods import BoardOptions, Method, MethodBoard, Ties, board_of
from agon.ranking.outcomes import PairCounts


@dataclass(frozen=True, slots=True, eq=False)
class Standings:
    """A board and what stands behind it. `errors` says in words what the intervals rest on; `seed` repeats them."""

    options: BoardOptions
    seed: int
    counts: PairCounts
    battles: CodedBattles | None
    details: MethodBoard
    errors: str

    @property
    def board(self) -> Leaderboard:
        return self.details.board

    def goodness(self) -> GoodnessOfFit | None:
        """The test of plain Bradley-Terry; None where something else was fitted, or nothing."""
        fit, how = self.board.fit, self.options
        plain = how.method is Method.BRADLEY_TERRY and not how.style and how.ties is Ties.HALF
        return goodness_of_fit(self.counts, fit.groups[fit.main]) if plain and fit.main is not None else None


def standings_of(cleaned: Cleaned, options: BoardOptions, *, seed: int) -> Standings:
    """Raises `InvalidInput` where the battles do not have what the options need."""
    rng = np.random.default_rng(seed)
    battles = _telling(cleaned.battles) if options.style else cleaned.battles
    details = board_of(cleaned.counts, options, battles=battles, rng=rng)
    return Standings(options, seed, cleaned.counts, battles, details, _errors(options, details, battles))


def _telling(battles: CodedBattles | None) -> CodedBattles | None:
    """Without the features of style in which no two answers differ, since no weight of theirs could be found."""
    if battles is None or battles.style is None or not len(battles):
        return battles
    used: list[int] = np.flatnonzero(battles.style.any(axis=0)).tolist()
    if not used:
        raise InvalidInput("The answers do not differ in style.", code="missing_style", field="style")
    names = tuple(battles.style_names[place] for place in used)
    return replace(battles, style=np.asfortranarray(battles.style[:, used]), style_names=names)


def _errors(options: BoardOptions, details: MethodBoard, battles: CodedBattles | None) -> str:
    if options.method is Method.ELO:
        times = None if battles is None else battles.timestamps
        timed = times is not None and not np.isnan(times).any()
        order = "of time" if timed else "of the files, since not all battles have a time"
        return f"no intervals, as online Elo has none; battles in the order {order}"
    if details.bootstrap is not None:
        over = "voters" if options.by_voter else "battles"
        return f"intervals from {details.bootstrap.finite} bootstrap rounds over {over}"
    if options.by_voter:
        return "voter-clustered standard errors"
    if details.style is not None:
        return f"robust standard errors, controlled for {', '.join(details.style.names)}"
    return "robust standard errors"
