"""Token buckets, one for each sender."""

from collections import OrderedDict


class Buckets:
    """What senders may still send. A bucket that nobody used for a minute is full, and needs no keeping."""

    def __init__(self, per_minute: float, *, most: int = 10_000) -> None:
        """A full bucket holds a minute's worth; 0 means no limit. No more than so many buckets are kept."""
        self._full = float(per_minute)
        self._most = most
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def wait_s(self, sender: str, cost: float, now_s: float) -> float:
        """Seconds until so much may be taken; more than a full bucket may be taken from a full one."""
        if not self._full:
            return 0.0
        missing = min(cost, self._full) - self._tokens(sender, now_s)
        return max(0.0, missing * 60 / self._full)

    def take(self, sender: str, cost: float, now_s: float) -> float:
        """Take it and return 0, or leave it and return the seconds until it may be taken."""
        wait_s = self.wait_s(sender, cost, now_s)
        if self._full and not wait_s:
            self._buckets[sender] = self._tokens(sender, now_s) - min(cost, self._full), now_s
            self._buckets.move_to_end(sender)
            while len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
        return wait_s

    def _tokens(self, sender: str, now_s: float) -> float:
        tokens, then_s = self._buckets.get(sender, (self._full, now_s))
        return min(self._full, tokens + max(0.0, now_s - then_s) * self._full / 60)
