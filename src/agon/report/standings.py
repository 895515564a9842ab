"""Cleaned battles to a board, with words for what its numbers rest on."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from agon.core.errors import InvalidInput
from agon.ranking.arrays import listed
from agon.ranking.battles import CodedBattles
from agon.ranking.bradley_terry import RatedGroup
from agon.ranking.cleaning import Cleaned
from agon.ranking.goodness import GoodnessOfFit, goodness_of_fit
from agon.ranking.leaderboard import Leaderboard
from agon.ranking.matrices import win_matrix
from agon.ranking.methods import BoardOptions, Method, MethodBoard, Ties, board_of
from agon.ranking.outcomes import PairCounts
from agon.ranking.ranks import simultaneous_ranks


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

    def group(self) -> RatedGroup | None:
        """The ranked models of a plain Bradley-Terry fit; None where something else was fitted, or nothing."""
        fit, how = self.board.fit, self.options
        plain = how.method is Method.BRADLEY_TERRY and not how.style and how.ties is Ties.HALF
        return fit.groups[fit.main] if plain and fit.main is not None else None

    def goodness(self) -> GoodnessOfFit | None:
        group = self.group()
        return None if group is None else goodness_of_fit(self.counts, group)

    def simultaneous(self) -> Mapping[str, tuple[int, int]]:
        """Best and worst rank of each ranked model that hold for all of them at once with 95 % confidence."""
        group = self.group()
        if group is None:
            return {}
        ranks = simultaneous_ranks(group, np.random.default_rng(self.seed))
        columns = zip(listed(group.places), listed(ranks.best), listed(ranks.worst), strict=True)
        return {self.counts.models[place]: (best, worst) for place, best, worst in columns}

    def average_win_rates(self) -> Mapping[str, float]:
        """The predicted win rate of each ranked model against all others, each counting once."""
        if self.group() is None:
            return {}
        average = win_matrix(self.counts, self.board.fit).average.tolist()
        return {name: rate for name, rate in zip(self.counts.models, average, strict=True) if not math.isnan(rate)}


def standings_of(cleaned: Cleaned, options: BoardOptions, *, seed: int) -> Standings:
    """Raises `InvalidInput` where the battles do not have what the options need."""
    if not cleaned.report.rows:
        # No votes lack nothing: an empty log has an empty board by any method.
        options = BoardOptions(min_battles=options.min_battles)
    rng = np.random.default_rng(seed) if options.bootstrap else None
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
