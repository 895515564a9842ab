"""Votes as pair counts: all that Bradley-Terry needs to know of any number of battles."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from agon.core.errors import InvalidInput
from agon.core.votes import Winner
from agon.ranking.arrays import Codes, FloatArray, IntArray, Integers, frozen, listed

WINNERS: tuple[Winner, ...] = tuple(Winner)
"""What a voter can say; the code of a winner is its place here, 0 to 3."""
WINNER_CODES = {winner: code for code, winner in enumerate(WINNERS)}
POINTS_OF_A = frozen(np.array([1.0, 0.0, 0.5, 0.5]))
"""What the first model gets of a vote, by the winner's code; the second gets the rest."""
_SLICE = 1 << 18
"""Votes counted at once."""


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """How often each pair of M models met and how it went.

    `wins[i, j]` is how often model i beat model j. `ties` and `both_bad` are symmetric. All three are MxM, of integer
    votes, with a zero diagonal, and closed to writing. Which side a model stood on leaves no trace.
    """

    models: tuple[str, ...]
    wins: IntArray
    ties: IntArray
    both_bad: IntArray

    @classmethod
    def empty(cls, models: Iterable[str] = ()) -> "PairCounts":
        """No votes yet among these models. Raises `InvalidInput` for an empty or repeated name."""
        names = _checked_names(models)
        wins, ties, both_bad = frozen(np.zeros((3, len(names), len(names)), dtype=np.int64))
        return cls(names, wins, ties, both_bad)

    @classmethod
    def from_codes(
        cls, models: Iterable[str], first: Codes, second: Codes, winners: Codes, repeats: Codes | None = None
    ) -> "PairCounts":
        """Counts V votes in one pass.

        `first` and `second` hold places in `models`, `winners` codes of `Winner`; each has the shape (V,). With
        `repeats` each row stands for that many equal votes, so grouped rows need not be unrolled. Raises
        `InvalidInput`, naming the first bad row, for a code out of range, a self-battle or a negative repeat.
        """
        names = _checked_names(models)
        votes = _Votes.checked(len(names), first, second, winners, repeats)
        won_a, won_b, tied, bad = votes.table(len(names))
        return cls(names, frozen(won_a + won_b.T), frozen(tied + tied.T), frozen(bad + bad.T))

    @classmethod
    def from_tables(cls, models: Iterable[str], wins: IntArray, ties: IntArray, both_bad: IntArray) -> "PairCounts":
        """Counts that are MxM tables already, which it takes over. Raises `InvalidInput` if they are none."""
        names = _checked_names(models)
        tables = [np.asarray(table, dtype=np.int64) for table in (wins, ties, both_bad)]
        if any(table.shape != (len(names), len(names)) for table in tables):
            raise InvalidInput("A table of counts is not as wide and high as there are models.", code="bad_votes")
        if any((table < 0).any() or np.diag(table).any() for table in tables) or any(
            (table != table.T).any() for table in tables[1:]
        ):
            raise InvalidInput("A table of counts is no table of battles.", code="bad_votes")
        return cls(names, *(frozen(table) for table in tables))

    def with_votes(self, first: Codes, second: Codes, winners: Codes, repeats: Codes | None = None) -> "PairCounts":
        """These counts and some more votes, coded as in `from_codes`; costs a copy of MxM, whatever was counted."""
        return self._shifted(1, _Votes.checked(len(self.models), first, second, winners, repeats))

    def without_votes(self, first: Codes, second: Codes, winners: Codes, repeats: Codes | None = None) -> "PairCounts":
        """These counts less some votes, for a rolling window. Raises `InvalidInput` if they were not all counted."""
        less = self._shifted(-1, _Votes.checked(len(self.models), first, second, winners, repeats))
        if min(less.wins.min(initial=0), less.ties.min(initial=0), less.both_bad.min(initial=0)) < 0:
            raise InvalidInput("More votes were taken away than had been counted.", code="votes_not_counted")
        return less

    def with_models(self, models: Iterable[str]) -> "PairCounts":
        """The same votes with further models behind the present ones; those already there stay where they are."""
        names = tuple(dict.fromkeys((*self.models, *models)))
        grown = PairCounts.empty(names)
        old = len(self.models)
        arrays = np.zeros((3, len(names), len(names)), dtype=np.int64)
        arrays[:, :old, :old] = self.wins, self.ties, self.both_bad
        wins, ties, both_bad = frozen(arrays)
        return PairCounts(grown.models, wins, ties, both_bad)

    def plus(self, other: "PairCounts") -> "PairCounts":
        """The votes of both; models that only the other has join behind these."""
        whole = self.with_models(other.models)
        at = np.ix_(*(whole.codes(other.models),) * 2)
        tables = [table.copy() for table in (whole.wins, whole.ties, whole.both_bad)]
        for table, more in zip(tables, (other.wins, other.ties, other.both_bad), strict=True):
            table[at] += more
        return PairCounts(whole.models, *(frozen(table) for table in tables))

    def minus(self, other: "PairCounts") -> "PairCounts":
        """These votes without the other's. Raises `InvalidInput` (`votes_not_counted`) if some are not among them."""
        at = np.ix_(*(self.codes(other.models),) * 2)
        tables = [table.copy() for table in (self.wins, self.ties, self.both_bad)]
        for table, less in zip(tables, (other.wins, other.ties, other.both_bad), strict=True):
            table[at] -= less
            if (table < 0).any():
                raise InvalidInput("Some of these votes are not among those counted.", code="votes_not_counted")
        return PairCounts(self.models, *(frozen(table) for table in tables))

    def only(self, places: IntArray) -> "PairCounts":
        """The votes among some of the models, by place."""
        window = np.ix_(places, places)
        tables = (frozen(table[window]) for table in (self.wins, self.ties, self.both_bad))
        return PairCounts(tuple(self.models[place] for place in listed(places)), *tables)

    def decided(self) -> "PairCounts":
        """The battles that somebody won."""
        none = frozen(np.zeros_like(self.wins))
        return PairCounts(self.models, self.wins, none, none)

    def codes(self, names: Sequence[str]) -> IntArray:
        """Places of models in these counts. Raises `InvalidInput` for a name that is not there."""
        place = {name: code for code, name in enumerate(self.models)}
        for name in names:
            if name not in place:
                raise InvalidInput(f"{name!r} is not among the counted models.", code="unknown_model", field="model")
        return np.array([place[name] for name in names], dtype=np.int64)

    def draws(self) -> IntArray:
        """Ties and both-bad together, MxM."""
        return self.ties + self.both_bad

    def met(self) -> IntArray:
        """Battles of each pair, MxM, symmetric."""
        return self.wins + self.wins.T + self.draws()

    def score(self) -> FloatArray:
        """Wins with a tie and a both-bad as half a win for either, MxM; `score + score.T` is `met`."""
        return self.wins + 0.5 * self.draws()

    def win_rates(self) -> FloatArray:
        """Share of each pair's score that went to i, MxM; NaN where a pair never met."""
        met = self.met().astype(np.float64)
        return np.divide(self.score(), met, out=np.full_like(met, np.nan), where=met > 0)

    def votes(self) -> int:
        """Votes counted."""
        return int(self.wins.sum()) + int(self.draws().sum()) // 2

    def _shifted(self, sign: int, votes: "_Votes") -> "PairCounts":
        wins, ties, both_bad = self.wins.copy(), self.ties.copy(), self.both_bad.copy()
        for code, table in ((2, ties), (3, both_bad)):
            row = votes.winner == code
            step = votes.steps(row, sign)
            np.add.at(table, (votes.first[row], votes.second[row]), step)
            np.add.at(table, (votes.second[row], votes.first[row]), step)
        decided = votes.winner < 2
        won_a = votes.winner[decided] == 0
        first, second = votes.first[decided], votes.second[decided]
        winner, loser = np.where(won_a, first, second), np.where(won_a, second, first)
        np.add.at(wins, (winner, loser), votes.steps(decided, sign))
        return PairCounts(self.models, frozen(wins), frozen(ties), frozen(both_bad))


@dataclass(frozen=True, slots=True, eq=False)
class _Votes:
    """Coded votes that have passed every check; arrays of one length."""

    first: Integers
    second: Integers
    winner: Integers
    repeats: IntArray | None

    @classmethod
    def checked(cls, size: int, first: Codes, second: Codes, winners: Codes, repeats: Codes | None) -> "_Votes":
        a, b, w = (_coded(codes) for codes in (first, second, winners))
        n = None if repeats is None else _coded(repeats).astype(np.int64, copy=False)
        if not a.shape == b.shape == w.shape == (a.shape if n is None else n.shape):
            raise InvalidInput("The columns of the votes differ in length.", code="bad_votes")
        if _beyond(a, size) or _beyond(b, size):
            _refuse((a < 0) | (a >= size) | (b < 0) | (b >= size), "unknown_model", "names a model that is not there")
        if _beyond(w, len(WINNERS)):
            _refuse((w < 0) | (w >= len(WINNERS)), "unknown_winner", "has no known winner")
        _refuse(a == b, "self_battle", "sets a model against itself")
        if n is not None:
            _refuse(n < 0, "bad_votes", "counts a negative number of votes")
        return cls(a, b, w, n)

    def table(self, size: int) -> IntArray:
        """Votes by winner, first and second, 4xMxM, counted in slices, so that what is made on the way stays small."""
        table = np.zeros(4 * size * size, dtype=np.int64)
        step = max(_SLICE, len(table))
        for start in range(0, len(self.first), step):
            part = slice(start, start + step)
            cell = (self.winner[part].astype(np.int64) * size + self.first[part]) * size + self.second[part]
            # Weighted bincount adds in float64: exact below 2**53 votes a cell.
            weights = None if self.repeats is None else self.repeats[part]
            table += np.bincount(cell, weights, len(table)).astype(np.int64, copy=False)
        return table.reshape(4, size, size)

    def steps(self, rows: np.typing.NDArray[np.bool_], sign: int) -> IntArray:
        """What each of some rows adds to its cell."""
        return np.full(int(rows.sum()), sign) if self.repeats is None else sign * self.repeats[rows]


def _beyond(codes: Integers, size: int) -> bool:
    return bool(codes.size) and (int(codes.min()) < 0 or int(codes.max()) >= size)


def _coded(codes: Codes) -> Integers:
    array = np.asarray(codes)
    if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise InvalidInput("A column of votes must be a flat row of integers.", code="bad_votes")
    # An empty list makes an array of floats, and numpy adds unsigned integers to signed ones as floats.
    return array if array.dtype.kind == "i" else array.astype(np.int64)


def _refuse(bad: np.typing.NDArray[np.bool_], code: str, what: str) -> None:
    if bad.any():
        raise InvalidInput(f"Vote {int(bad.argmax())} of {bad.size} {what}.", code=code)


def _checked_names(models: Iterable[str]) -> tuple[str, ...]:
    names = tuple(models)
    if not all(names):
        raise InvalidInput("A model has no name.", code="missing_model", field="model")
    if len(set(names)) < len(names):
        raise InvalidInput("A model is named twice.", code="repeated_model", field="model")
    return names
