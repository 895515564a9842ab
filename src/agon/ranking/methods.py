"""Boards by other methods than plain Bradley-Terry: the same rows, other numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from agon.core.errors import InvalidInput
from agon.ranking.arrays import FloatArray, IntArray, listed
from agon.ranking.battles import CodedBattles
from agon.ranking.bradley_terry import Anchor, RatedGroup
from agon.ranking.elo import EloRules, elo_in_order
from agon.ranking.leaderboard import MIN_BATTLES, Leaderboard, Row, leaderboard, ordered
from agon.ranking.outcomes import PairCounts
from agon.ranking.ranks import Z95, overlap_ranks
from agon.ranking.style import StyleFit, fit_style
from agon.ranking.voters import clustered_errors

# What only some boards need is imported by them alone; to name a type of numpy.random unquoted would import that too.
if TYPE_CHECKING:
    from agon.ranking.bootstrap import Bootstrap
    from agon.ranking.ties import TieFit


class Method(StrEnum):
    BRADLEY_TERRY = "bt"
    ELO = "elo"
    DAVIDSON = "davidson"
    RAO_KUPPER = "rao-kupper"


class Ties(StrEnum):
    """What a tie and a both-bad are to Bradley-Terry: half a win for either side, or nothing."""

    HALF = "half"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class BoardOptions:
    """How a board is computed. `bootstrap` is a number of rounds, 0 for none.

    `by_voter` lets the votes of one voter lean together, in the bootstrap as in the errors. `style` controls for it.
    """

    method: Method = Method.BRADLEY_TERRY
    ties: Ties = Ties.HALF
    style: bool = False
    by_voter: bool = False
    bootstrap: int = 0
    anchor: Anchor | None = None
    min_battles: int = MIN_BATTLES
    elo: EloRules = field(default_factory=EloRules)

    def __post_init__(self) -> None:
        plain = self.method is Method.BRADLEY_TERRY
        for asked, what in (
            (self.style, "Style control"),
            (self.by_voter, "Errors by voter"),
            (self.bootstrap > 0, "The bootstrap"),
            (self.ties is Ties.DROP, "Dropping ties"),
        ):
            if asked and not plain:
                raise InvalidInput(f"{what} goes with Bradley-Terry ratings alone.", code="bad_method", field="method")
        if self.style and (self.by_voter or self.bootstrap or self.ties is Ties.DROP):
            raise InvalidInput(
                "Style control has errors of its own and counts ties as half.", code="bad_method", field="style"
            )

    @property
    def needs_rows(self) -> bool:
        """Whether counts alone are not enough."""
        return self.style or self.by_voter or self.method is Method.ELO


@dataclass(frozen=True, slots=True)
class MethodBoard:
    """A board and the fit beyond Bradley-Terry behind it, if there is one."""

    board: Leaderboard
    ties: "TieFit | None" = None
    style: StyleFit | None = None
    bootstrap: "Bootstrap | None" = None


def board_of(
    counts: PairCounts,
    options: BoardOptions | None = None,
    *,
    battles: CodedBattles | None = None,
    rng: "np.random.Generator | None" = None,
) -> MethodBoard:
    """The board of these counts; `battles` are the very rows they count, for what needs rows.

    Raises `InvalidInput` if rows, voters, style or the generator are asked for and not there, and as the methods do.
    """
    how = options or BoardOptions()
    plain = leaderboard(counts, anchor=how.anchor, min_battles=how.min_battles, drop_ties=how.ties is Ties.DROP)
    if how.method in (Method.DAVIDSON, Method.RAO_KUPPER):
        from agon.ranking.ties import TieModel, fit_ties

        fit = fit_ties(counts, TieModel(how.method.value))
        return MethodBoard(
            _rerated(plain, _Numbers(fit.places, fit.ratings[fit.places], fit.covariance), how), ties=fit
        )
    if how.needs_rows and battles is None:
        raise InvalidInput("This method needs the votes one by one.", code="rows_needed", field="method")
    if how.method is Method.ELO and battles is not None:
        return MethodBoard(_by_elo(plain, battles, how))
    if how.style and battles is not None:
        return _styled(plain, battles, how)
    if how.ties is Ties.DROP:
        # Errors are those of the fit, which saw the decided votes alone.
        counts, battles = counts.decided(), None if battles is None else battles.decided()
    if how.bootstrap:
        return _bootstrapped(plain, counts, how, battles, rng)
    return MethodBoard(_clustered(plain, battles) if how.by_voter and battles is not None else plain)


@dataclass(frozen=True, slots=True, eq=False)
class _Numbers:
    """Ratings of mean 1000 of the rated places, (m,), with their covariance, mxm, in points."""

    places: IntArray
    ratings: FloatArray
    covariance: FloatArray

    def held(self, models: tuple[str, ...], anchor: Anchor | None) -> "_Numbers":
        """The same measured from the anchor, if it is among them."""
        places = [models[place] for place in listed(self.places)]
        if anchor is None or anchor.model not in places:
            return self
        at = places.index(anchor.model)
        contrast = np.eye(len(places))
        contrast[:, at] -= 1.0
        ratings = anchor.rating + (self.ratings - self.ratings[at])
        return _Numbers(self.places, ratings, contrast @ self.covariance @ contrast.T)


def _rerated(board: Leaderboard, numbers: _Numbers, how: BoardOptions) -> Leaderboard:
    models = board.fit.models
    held = numbers.held(models, how.anchor)
    se = np.sqrt(np.maximum(np.diag(held.covariance), 0.0))
    low, high = held.ratings - Z95 * se, held.ratings + Z95 * se
    columns = zip(held.ratings.tolist(), low.tolist(), high.tolist(), se.tolist(), strict=True)
    ranks = overlap_ranks(low, high).tolist()
    found = {models[place]: (*row, rank) for place, row, rank in zip(listed(held.places), columns, ranks, strict=True)}
    rows: list[Row] = []
    for row in board.rows:
        rating, lower, upper, error, rank = found.get(row.model, (None,) * 5)
        rows.append(replace(row, rating=rating, low=lower, high=upper, se=error, rank=rank))
    return replace(board, rows=ordered(board.fit, rows))


def _with_errors(board: Leaderboard, spans: "Mapping[str, tuple[float, float, float]]") -> Leaderboard:
    """The same ratings with other errors and ends, by model of the main group, and the ranks that follow."""
    names = list(spans)
    low, high = (np.array([spans[name][side] for name in names]) for side in (1, 2))
    ranks = dict(zip(names, overlap_ranks(low, high).tolist(), strict=True))
    rows = [
        replace(row, se=spans[row.model][0], low=spans[row.model][1], high=spans[row.model][2], rank=ranks[row.model])
        if row.model in spans
        else row
        for row in board.rows
    ]
    return replace(board, rows=ordered(board.fit, rows))


def _main(board: Leaderboard) -> RatedGroup | None:
    return None if board.fit.main is None else board.fit.groups[board.fit.main]


def _by_elo(board: Leaderboard, battles: CodedBattles, how: BoardOptions) -> Leaderboard:
    order = battles.time_order()
    ratings = elo_in_order(
        battles.models, battles.first[order], battles.second[order], battles.winners[order], rules=how.elo
    )
    if how.anchor is not None and how.anchor.model in ratings:
        shift = how.anchor.rating - ratings[how.anchor.model]
        ratings = {model: rating + shift for model, rating in ratings.items()}
    heights = np.array(list(ratings.values()))
    ranks = dict(zip(ratings, overlap_ranks(heights, heights).tolist(), strict=True))
    rows = [
        replace(
            row,
            rating=ratings.get(row.model),
            elo=ratings.get(row.model),
            low=None,
            high=None,
            se=None,
            rank=ranks.get(row.model),
        )
        for row in board.rows
    ]
    return replace(board, rows=tuple(sorted(rows, key=lambda row: (row.rank or len(rows) + 1, row.model))))


def _styled(board: Leaderboard, battles: CodedBattles, how: BoardOptions) -> MethodBoard:
    if battles.style is None:
        raise InvalidInput("The votes do not tell the style of the answers.", code="missing_style", field="style")
    fit = fit_style(
        battles.models, battles.first, battles.second, battles.winners, battles.style, names=battles.style_names
    )
    names = {model: place for place, model in enumerate(board.fit.models)}
    places = np.array([names[battles.models[place]] for place in listed(fit.places)], dtype=np.int64)
    numbers = _Numbers(places, fit.ratings[fit.places], fit.covariance)
    return MethodBoard(_rerated(board, numbers, how), style=fit)


def _voters(battles: CodedBattles) -> IntArray:
    if battles.voters is None or (battles.voters.codes < 0).any():
        raise InvalidInput("Some votes do not tell their voter.", code="missing_voter", field="voter")
    return battles.voters.codes.astype(np.int64)


def _clustered(board: Leaderboard, battles: CodedBattles) -> Leaderboard:
    group, voters = _main(board), _voters(battles)
    if group is None:
        return board
    errors = clustered_errors(group, battles.first, battles.second, battles.winners, voters)
    se = errors.se
    if group.anchored:
        at = int(np.flatnonzero(group.se == 0.0)[0])
        se = np.array([errors.of_gap(place, at) for place in range(len(group.places))])
    names = [board.fit.models[place] for place in listed(group.places)]
    ends = zip(se.tolist(), (group.ratings - Z95 * se).tolist(), (group.ratings + Z95 * se).tolist(), strict=True)
    return _with_errors(board, dict(zip(names, ends, strict=True)))


def _bootstrapped(
    board: Leaderboard,
    counts: PairCounts,
    how: BoardOptions,
    battles: CodedBattles | None,
    rng: "np.random.Generator | None",
) -> MethodBoard:
    if rng is None:
        raise InvalidInput("A bootstrap needs a generator of random numbers.", code="generator_needed", field="rng")
    group = _main(board)
    if group is None:
        return MethodBoard(board)
    from agon.ranking.bootstrap import bootstrap_battles, bootstrap_voters

    if how.by_voter and battles is not None:
        columns = battles.first, battles.second, battles.winners, _voters(battles)
        found = bootstrap_voters(group, *columns, rng=rng, rounds=how.bootstrap)
    else:
        found = bootstrap_battles(counts, group, rng=rng, rounds=how.bootstrap)
    if found.finite < 2:
        return MethodBoard(board, bootstrap=found)
    names = [board.fit.models[place] for place in listed(group.places)]
    ends = zip(found.se.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
    return MethodBoard(_with_errors(board, dict(zip(names, ends, strict=True))), bootstrap=found)
