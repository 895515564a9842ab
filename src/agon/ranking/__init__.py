"""Votes to ratings. Pure and numpy only: the same votes give the same board, whoever computes it and when.

In a notebook, with one value a battle in each of three columns:

>>> from agon.ranking import rank
>>> model_a, model_b, winner = ["x", "y", "x"], ["y", "x", "y"], ["model_a", "model_a", "tie"]
>>> result = rank(model_a, model_b, winner)
>>> print(result)  # doctest: +NORMALIZE_WHITESPACE
rank  model  rating    95 % interval  votes  win rate  notes
   1  x      1000.0  839.5 to 1160.5      3    50.0 %  few_battles
   1  y      1000.0  839.5 to 1160.5      3    50.0 %  few_battles
3 votes counted
>>> result.board.rows[0].battles
3
"""

from importlib import import_module
from typing import TYPE_CHECKING

# Bears the name of its module, which would be found in its place if that were imported first.
from agon.ranking.leaderboard import Leaderboard, Note, NoteCode, Row, leaderboard

if TYPE_CHECKING:
    from agon.ranking.battles import CodedBattles
    from agon.ranking.bootstrap import Bootstrap, bootstrap_battles, bootstrap_voters
    from agon.ranking.bradley_terry import Anchor, BradleyTerry, Gap, RatedGroup, fit_bradley_terry
    from agon.ranking.categories import CategoryBoard, category_boards
    from agon.ranking.cleaning import Cleaned, Cleaner, clean
    from agon.ranking.columns import Coded
    from agon.ranking.diagnostics import DriftTest, VoterInfluence, drift_between, drift_test, voter_influence
    from agon.ranking.elo import EloRules, EloState, VoteKey, elo_in_order, elo_pass
    from agon.ranking.goodness import GoodnessOfFit, goodness_of_fit
    from agon.ranking.history import RatingHistory, RollingCounts, rating_history
    from agon.ranking.intervals import ProfileLimits, profile_limits
    from agon.ranking.live import LiveRatings
    from agon.ranking.matrices import WinMatrix, win_matrix
    from agon.ranking.methods import BoardOptions, Method, MethodBoard, Ties, board_of
    from agon.ranking.notebook import Ranking, rank, rank_raw
    from agon.ranking.outcomes import PairCounts
    from agon.ranking.ranks import SimultaneousRanks, difference_ranks, overlap_ranks, simultaneous_ranks
    from agon.ranking.raw import CleaningRules, RawBattles
    from agon.ranking.rejects import CleaningReport, Notice, Reason, Rejection
    from agon.ranking.sequences import Span, gap_sequence, rating_sequence, win_rate_sequence
    from agon.ranking.spellings import NUMERIC_WINNERS, WINNER_SPELLINGS
    from agon.ranking.style import RawStyle, StyleFit, fit_style, style_differences
    from agon.ranking.ties import TieFit, TieModel, fit_ties
    from agon.ranking.voters import ClusteredErrors, capped, clustered_errors

__all__ = [
    "NUMERIC_WINNERS",
    "WINNER_SPELLINGS",
    "Anchor",
    "BoardOptions",
    "Bootstrap",
    "BradleyTerry",
    "CategoryBoard",
    "Cleaned",
    "Cleaner",
    "CleaningReport",
    "CleaningRules",
    "ClusteredErrors",
    "Coded",
    "CodedBattles",
    "DriftTest",
    "EloRules",
    "EloState",
    "Gap",
    "GoodnessOfFit",
    "Leaderboard",
    "LiveRatings",
    "Method",
    "MethodBoard",
    "Note",
    "NoteCode",
    "Notice",
    "PairCounts",
    "ProfileLimits",
    "Ranking",
    "RatedGroup",
    "RatingHistory",
    "RawBattles",
    "RawStyle",
    "Reason",
    "Rejection",
    "RollingCounts",
    "Row",
    "SimultaneousRanks",
    "Span",
    "StyleFit",
    "TieFit",
    "TieModel",
    "Ties",
    "VoteKey",
    "VoterInfluence",
    "WinMatrix",
    "board_of",
    "bootstrap_battles",
    "bootstrap_voters",
    "capped",
    "category_boards",
    "clean",
    "clustered_errors",
    "difference_ranks",
    "drift_between",
    "drift_test",
    "elo_in_order",
    "elo_pass",
    "fit_bradley_terry",
    "fit_style",
    "fit_ties",
    "gap_sequence",
    "goodness_of_fit",
    "leaderboard",
    "overlap_ranks",
    "profile_limits",
    "rank",
    "rank_raw",
    "rating_history",
    "rating_sequence",
    "simultaneous_ranks",
    "style_differences",
    "voter_influence",
    "win_matrix",
    "win_rate_sequence",
]

_PARTS = {
    "battles": "CodedBattles",
    "bootstrap": "Bootstrap bootstrap_battles bootstrap_voters",
    "bradley_terry": "Anchor BradleyTerry Gap RatedGroup fit_bradley_terry",
    "categories": "CategoryBoard category_boards",
    "cleaning": "Cleaned Cleaner clean",
    "columns": "Coded",
    "diagnostics": "DriftTest VoterInfluence drift_between drift_test voter_influence",
    "elo": "EloRules EloState VoteKey elo_in_order elo_pass",
    "goodness": "GoodnessOfFit goodness_of_fit",
    "history": "RatingHistory RollingCounts rating_history",
    "intervals": "ProfileLimits profile_limits",
    "live": "LiveRatings",
    "matrices": "WinMatrix win_matrix",
    "methods": "BoardOptions Method MethodBoard Ties board_of",
    "notebook": "Ranking rank rank_raw",
    "outcomes": "PairCounts",
    "ranks": "SimultaneousRanks difference_ranks overlap_ranks simultaneous_ranks",
    "raw": "CleaningRules RawBattles",
    "rejects": "CleaningReport Notice Reason Rejection",
    "sequences": "Span gap_sequence rating_sequence win_rate_sequence",
    "spellings": "NUMERIC_WINNERS WINNER_SPELLINGS",
    "style": "RawStyle StyleFit fit_style style_differences",
    "ties": "TieFit TieModel fit_ties",
    "voters": "ClusteredErrors capped clustered_errors",
}
_HOMES = {name: part for part, names in _PARTS.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Imports a part when it is first asked for, so that no command waits for what it does not use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
