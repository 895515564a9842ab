"""Which servers have just failed here, so that the next requests are spared the same. PURE: time is passed in.

The runners' breakers judge for the whole fleet; this bridges the moment until they have.
"""

_FIRST_S = 0.5
_MOST_S = 30.0
_PROBE_S = 1.0


class Cooling:
    def __init__(self) -> None:
        self._cooling: dict[str, tuple[float, int]] = {}

    def avoided(self, replicas: tuple[str, ...], now_s: float) -> tuple[str, ...]:
        """Those to leave out. One whose time is over is let through once, and once more each second."""
        if not self._cooling:
            return ()
        left_out: list[str] = []
        for replica in replicas:
            until_s, failures = self._cooling.get(replica, (now_s, 0))
            if until_s > now_s:
                left_out.append(replica)
            elif failures:
                self._cooling[replica] = (now_s + _PROBE_S, failures)
        return tuple(left_out)

    def failed(self, replica: str, now_s: float) -> None:
        failures = self._cooling.get(replica, (0.0, 0))[1] + 1
        self._cooling[replica] = (now_s + min(_MOST_S, _FIRST_S * 2.0 ** (failures - 1)), failures)

    def succeeded(self, replica: str) -> None:
        self._cooling.pop(replica, None)
