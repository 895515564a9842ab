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
from agon.ranking.leaderboard import Leaderboard, Note, NoteCode, Row, leaderboard
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
