"""Names that those who send the pipeline's jobs share with those who run them."""

from collections.abc import Mapping

SCORE_JOB = "agon.rounds.score"
MERGE_JOB = "agon.rounds.merge"
BOARD_JOB = "agon.rounds.board"

JOBS: Mapping[str, str] = {"score": SCORE_JOB, "merge": MERGE_JOB, "board": BOARD_JOB}
"""The job of each step of a batch, in their order."""
