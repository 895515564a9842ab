"""Which servers have just failed here, so that the next requests are spared the same.

The runners' breakers judge for the whole fleet; this bridges the moment until they have.
"""

from collections.abc import Callable

_FIRST_S = 0.5
_MOST_S = 30.0
_PROBE_S = 1.0


class Cooling:
    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._cooling: dict[str, tuple[float, int]] = {}

    def avoided(self, replicas: tuple[str, ...]) -> tuple[str, ...]:
        """Those to leave out. One whose time is over is let through once, and once more each second."""
        if not self._cooling:
            return ()
        now_s = self._monotonic_s()
        left_out: list[str] = []
        for replica in replicas:
            until_s, failures = self._cooling.get(replica, (now_s, 0))
            if until_s > now_s:
                left_out.append(replica)
            elif failures:
                self._cooling[replica] = (now_s + _PROBE_S, failures)
        return tuple(left_out)

    def failed(self, replica: str) -> None:
        failures = self._cooling.get(replica, (0.0, 0))[1] + 1
        seconds = min(_MOST_S, _FIRST_S * 2.0 ** min(failures - 1, 10))
        self._cooling[replica] = (self._monotonic_s() + seconds, failures)

    def succeeded(self, replica: str) -> None:
        self._cooling.pop(replica, None)
