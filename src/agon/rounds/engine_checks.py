"""What the last looks at reduced engines found, for those who read their scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class EngineCheck:
    """The last look at one engine beside the full-precision one."""

    model: str
    """Revision of the reward model."""
    engine: str
    verdict: str
    """`promote`, `roll_back` or `hold`."""
    figures: Mapping[str, Any]
    """As the drift guard wrote them."""
    checked_at: datetime
    rolled_back_since: datetime | None
    """Since when the full-precision engine scores in its place."""


class EngineChecks(Protocol):
    async def latest(self, *, limit: int) -> Sequence[EngineCheck]:
        """One look at each engine, the newest first."""
        ...
