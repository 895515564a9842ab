"""Names that the readers, the keepers and the jobs of boards share."""

MAIN = "main"
"""The live board."""

REFRESH_JOB = "agon.boards.refresh"
"""The job that says that votes came."""
