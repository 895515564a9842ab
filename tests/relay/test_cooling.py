"""A server that has just failed is left alone, for longer each time, but tried now and then."""

from agon.relay.cooling import Cooling

BOTH = ("a", "b")


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_it_is_left_alone_for_longer_each_time_and_tried_once_in_between() -> None:
    clock = Clock()
    cooling = Cooling(clock)
    assert cooling.avoided(BOTH) == ()
    for seconds in (0.5, 1.0, 2.0, 4.0):
        cooling.failed("a")
        assert cooling.avoided(BOTH) == ("a",)
        clock.now_s += seconds - 0.01
        assert cooling.avoided(BOTH) == ("a",)
        clock.now_s += 0.02
        assert cooling.avoided(BOTH) == (), "one goes there to see"
        assert cooling.avoided(BOTH) == ("a",), "and no other until it is back"
        clock.now_s += 1.01
        assert cooling.avoided(BOTH) == (), "or has not come back"
    cooling.succeeded("a")
    cooling.failed("a")
    clock.now_s += 0.51
    assert cooling.avoided(BOTH) == (), "a success begins anew"


def test_there_is_a_longest_time() -> None:
    clock = Clock()
    cooling = Cooling(clock)
    for _ in range(2000):
        cooling.failed("b")
    clock.now_s += 29.9
    assert cooling.avoided(BOTH) == ("b",)
    clock.now_s += 0.2
    assert cooling.avoided(BOTH) == ()
