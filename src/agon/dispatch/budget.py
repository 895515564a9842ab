"""How many turns may be given to another replica, so that a failing fleet is not asked for twice the work. PURE."""


class RetryBudget:
    """A share of the turns may be retried, and a few in any case. Time is passed in."""

    def __init__(
        self, *, share: float = 0.2, floor: float = 10.0, floor_per_s: float = 0.5, most: float = 100.0
    ) -> None:
        self._share = share
        self._floor = floor
        self._floor_per_s = floor_per_s
        self._most = most
        self._tokens = floor
        self._at_s: float | None = None

    def began(self) -> None:
        """A turn was taken for the first time."""
        self._tokens = min(self._most, self._tokens + self._share)

    def take(self, now_s: float) -> bool:
        """Spend one retry; false if there is none left."""
        if self._at_s is not None and self._tokens < self._floor:
            self._tokens = min(self._floor, self._tokens + self._floor_per_s * max(0.0, now_s - self._at_s))
        self._at_s = now_s
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
