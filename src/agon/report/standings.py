"""Cleaned battles to a board, by the method and with the errors that were asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from agon.core.errors import InvalidInput
from agon.ranking.arrays import FloatArray, IntArray
from agon.ranking.battles import CodedBattles, codes_by_first_value
from agon.ranking.bootstrap import bootstrap_battles, bootstrap_voters
from agon.ranking.bradley_terry import PER_LOG_ODDS, Anchor, RatedGroup
from agon.ranking.cleaning import Cleaned
from agon.ranking.elo import elo_pass
from agon.ranking.goodness import GoodnessOfFit, goodness_of_fit
from agon.ranking.leaderboard import MIN_BATTLES, Leaderboard, Row, leaderboard, ordered
from agon.ranking.outcomes import PairCounts
from agon.ranking.ranks import Z95, overlap_ranks
from agon.ranking.style import StyleFit, fit_style
from agon.ranking.ties import TieFit, TieModel, fit_ties
from agon.ranking.voters import clustered_errors


class Method(StrEnum):
    BRADLEY_TERRY = "bt"
    ELO = "elo"
    DAVIDSON = "davidson"
    RAO_KUPPER = "rao-kupper"


class Ties(StrEnum):
    """What a tie is to Bradley-Terry: half a win for either side, or no battle."""

    HALF = "half"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Choice:
    """How to rank. `bootstrap` is a number of rounds, 0 for none; `by_voter` lets votes of one voter lean together."""

    method: Method = Method.BRADLEY_TERRY
    ties: Ties = Ties.HALF
    style: bool = False
    anchor: Anchor | None = None
    bootstrap: int = 0
    by_voter: bool = False
    seed: int = 0
    min_battles: int = MIN_BATTLES

    def __post_init__(self) -> None:
        plain = self.method is Method.BRADLEY_TERRY
        for chosen, name in (
            (self.ties is not Ties.HALF, "--ties"),
            (self.style, "--style"),
            (self.bootstrap > 0, "--bootstrap"),
            (self.by_voter, "--cluster"),
        ):
            if chosen and not plain:
                raise InvalidInput(f"{name} goes with --method bt alone, not with {self.method}.", code="bad_choice")
        if self.style and (self.bootstrap or self.by_voter or self.ties is not Ties.HALF):
            raise InvalidInput("--style has errors of its own and counts a tie as half a win.", code="bad_choice")

    @property
    def needs_rows(self) -> bool:
        """Whether counts alone do not do."""
        return self.style or self.by_voter or self.method is Method.ELO


@dataclass(frozen=True, slots=True, eq=False)
class Standings:
    """A board and what stands behind it. `errors` says in words what the intervals rest on."""

    choice: Choice
    board: Leaderboard
    counts: PairCounts
    battles: CodedBattles | None
    errors: str
    goodness: GoodnessOfFit | None = None
    tie_fit: TieFit | None = None
    style_fit: StyleFit | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Numbers:
    """New ratings of some models, each (m,), in points; `places` are those in the counts."""

    places: IntArray
    ratings: FloatArray
    se: FloatArray
    low: FloatArray
    high: FloatArray
    ranks: IntArray

    @classmethod
    def normal(cls, places: IntArray, ratings: FloatArray, se: FloatArray) -> "_Numbers":
        low, high = ratings - Z95 * se, ratings + Z95 * se
        return cls(places, ratings, se, low, high, overlap_ranks(low, high))


def rank(cleaned: Cleaned, choice: Choice) -> Standings:
    """Raises `InvalidInput` where the battles do not have what the choice needs."""
    counts, battles = cleaned.counts, cleaned.battles
    board = leaderboard(
        counts, anchor=choice.anchor, min_battles=choice.min_battles, drop_ties=choice.ties is Ties.IGNORE
    )
    plain = Standings(choice, board, counts, battles, "robust standard errors", _goodness(counts, board, choice))
    if not counts.models:
        return plain
    if choice.method is Method.ELO:
        return _elo(plain)
    if choice.method is not Method.BRADLEY_TERRY:
        return _with_ties(plain, TieModel(choice.method.value))
    if choice.style:
        return _styled(plain)
    if choice.bootstrap:
        return _bootstrapped(plain)
    return _clustered(plain) if choice.by_voter else plain


def _goodness(counts: PairCounts, board: Leaderboard, choice: Choice) -> GoodnessOfFit | None:
    group = _main(board)
    return None if group is None or choice.ties is Ties.IGNORE else goodness_of_fit(counts, group)


def _main(board: Leaderboard) -> RatedGroup | None:
    return None if board.fit.main is None else board.fit.groups[board.fit.main]


def _elo(plain: Standings) -> Standings:
    battles = _rows(plain)
    order = battles.time_order()
    state = elo_pass(
        battles.models,
        battles.first[order],
        battles.second[order],
        battles.winners[order],
        timestamps=np.arange(len(order), dtype=np.float64),
        vote_ids=_NoIds(len(order)),
    )
    ratings = np.array([state.ratings[name] for name in battles.models])
    anchor = plain.choice.anchor
    if anchor is not None:
        ratings += anchor.rating - state.ratings[anchor.model]
    unknown = np.full(len(ratings), np.nan)
    ranks = 1 + len(ratings) - np.searchsorted(np.sort(ratings), ratings, side="right")
    numbers = _Numbers(np.arange(len(ratings)), ratings, unknown, unknown, unknown, ranks)
    timed = battles.timestamps is not None and not np.isnan(battles.timestamps).any()
    order_said = "in order of time" if timed else "in the order of the file, since not all votes have a time"
    return replace(plain, board=_board(plain, numbers, strict=True), errors=f"no intervals: online Elo {order_said}")


class _NoIds(Sequence[str]):
    """Ids of votes that are in order already."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: object) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ""


def _with_ties(plain: Standings, model: TieModel) -> Standings:
    fit = fit_ties(plain.counts, model)
    ratings, se = fit.ratings[fit.places], fit.se[fit.places]
    anchor = plain.choice.anchor
    if anchor is not None and fit.finite:
        ratings, se = _from_anchor(fit.models, fit.places, ratings, fit.covariance, anchor)
    board = _board(plain, _Numbers.normal(fit.places, ratings, se), strict=True)
    return replace(plain, board=board, tie_fit=fit, goodness=None)


def _styled(plain: Standings) -> Standings:
    battles = _rows(plain)
    if battles.style is None:
        raise InvalidInput(
            "--style needs counts of each answer's tokens and marks, which no file has.", code="no_style"
        )
    fit = fit_style(
        battles.models, battles.first, battles.second, battles.winners, battles.style, names=battles.style_names
    )
    ratings, se = fit.ratings[fit.places], fit.se[fit.places]
    anchor = plain.choice.anchor
    if anchor is not None and fit.places.size:
        size = len(fit.places)
        covariance = fit.covariance[:size, :size] * PER_LOG_ODDS**2
        ratings, se = _from_anchor(fit.models, fit.places, ratings, covariance, anchor)
    board = _board(plain, _Numbers.normal(fit.places, ratings, se), strict=True)
    return replace(plain, board=board, style_fit=fit, goodness=None, errors="robust standard errors, style controlled")


def _bootstrapped(plain: Standings) -> Standings:
    group = _main(plain.board)
    choice = plain.choice
    if group is None:
        return plain
    rng = np.random.default_rng(choice.seed)
    if choice.by_voter:
        first, second, winners, voters = _columns(plain)
        drawn = bootstrap_voters(group, first, second, winners, voters, rng, rounds=choice.bootstrap)
    else:
        drawn = bootstrap_battles(_rated(plain), group, rng, rounds=choice.bootstrap)
    numbers = _Numbers(
        group.places, group.ratings, drawn.se, drawn.low, drawn.high, overlap_ranks(drawn.low, drawn.high)
    )
    said = f"percentiles of {drawn.finite} bootstrap rounds over {'voters' if choice.by_voter else 'battles'}"
    return replace(plain, board=_board(plain, numbers), errors=said)


def _clustered(plain: Standings) -> Standings:
    group = _main(plain.board)
    if group is None:
        return plain
    first, second, winners, voters = _columns(plain)
    errors = clustered_errors(group, first, second, winners, voters)
    ratings, se = group.ratings, errors.se
    if plain.choice.anchor is not None and group.anchored:
        models = plain.counts.models
        ratings, se = _from_anchor(models, group.places, ratings, errors.covariance, plain.choice.anchor)
    said = f"voter-clustered standard errors, {len(np.unique(voters))} voters"
    return replace(plain, board=_board(plain, _Numbers.normal(group.places, ratings, se)), errors=said)


def _from_anchor(
    models: tuple[str, ...], places: IntArray, ratings: FloatArray, covariance: FloatArray, anchor: Anchor
) -> tuple[FloatArray, FloatArray]:
    """Ratings and errors as seen from the anchor, if it is among the places."""
    found = np.flatnonzero(places == models.index(anchor.model))
    variance = np.diag(covariance)
    if not found.size:
        return ratings, np.sqrt(np.maximum(variance, 0.0))
    held = int(found[0])
    gaps: FloatArray = np.maximum(variance + variance[held] - 2.0 * covariance[held], 0.0)
    return ratings + (anchor.rating - ratings[held]), np.sqrt(gaps)


def _rows(plain: Standings) -> CodedBattles:
    assert plain.battles is not None, "the cleaner was told to keep rows"
    return plain.battles


def _rated(plain: Standings) -> PairCounts:
    return plain.counts.decided() if plain.choice.ties is Ties.IGNORE else plain.counts


def _columns(plain: Standings) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Sides, winners and voters of the votes that the fit rests on."""
    battles = _rows(plain)
    if plain.choice.ties is Ties.IGNORE:
        battles = battles.where(battles.winners < 2)
    assert battles.voters is not None, "rows without a voter were rejected"
    voters = codes_by_first_value(battles.voters)
    return tuple(column.astype(np.int64) for column in (battles.first, battles.second, battles.winners, voters))  # type: ignore[return-value]


def _board(plain: Standings, numbers: _Numbers, *, strict: bool = False) -> Leaderboard:
    """The board with these numbers; others keep theirs, or with `strict` have none."""
    models = plain.counts.models
    place = {models[code]: number for number, code in enumerate(numbers.places.tolist())}
    rows = [_row(row, place.get(row.model), numbers, strict=strict) for row in plain.board.rows]
    return replace(plain.board, rows=ordered(plain.board.fit, rows))


def _row(row: Row, number: int | None, numbers: _Numbers, *, strict: bool) -> Row:
    if number is None:
        return replace(row, rating=None, low=None, high=None, se=None, rank=None) if strict else row
    columns = (numbers.ratings, numbers.low, numbers.high, numbers.se)
    rating, low, high, se = (float(column[number]) for column in columns)
    said = [None if np.isnan(value) else value for value in (rating, low, high, se)]
    return replace(row, rating=said[0], low=said[1], high=said[2], se=said[3], rank=int(numbers.ranks[number]))
