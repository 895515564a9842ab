"""Workers of the tests import this first: their clock is wrong by so many seconds."""

import datetime as dt
import os
import time

SKEW_S = float(os.environ.get("SKEW_S", "0"))

if SKEW_S:
    real_time, real_datetime = time.time, dt.datetime

    def wrong_time() -> float:
        return real_time() + SKEW_S

    class LikeTheRealOne(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, real_datetime)

    class WrongDatetime(real_datetime, metaclass=LikeTheRealOne):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:  # pyright: ignore[reportIncompatibleMethodOverride]
            return real_datetime.fromtimestamp(wrong_time(), tz)

        @classmethod
        def utcnow(cls) -> dt.datetime:  # pyright: ignore[reportIncompatibleMethodOverride]
            return real_datetime.fromtimestamp(wrong_time(), dt.UTC).replace(tzinfo=None)

    time.time = wrong_time
    dt.datetime = WrongDatetime
