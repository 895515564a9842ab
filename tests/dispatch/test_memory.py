from hypothesis import given
from hypothesis import strategies as st

from agon.dispatch.memory import Load, Never, Resident, Stay, Wait, fits_beside, make_room

BUDGET = 100


def resident(key: str, size: int, *, used: int = 0, users: int = 0, loading: bool = False) -> Resident:
    return Resident(key, size, users=users, used=used, loading=loading)


def test_what_is_there_stays() -> None:
    there = [resident("a", 90), resident("b", 10, loading=True)]
    assert make_room("a", 90, budget_bytes=BUDGET, residents=there) == Stay()
    assert make_room("b", 10, budget_bytes=BUDGET, residents=there) == Stay()


def test_what_fits_is_loaded_beside() -> None:
    assert make_room("b", 40, budget_bytes=BUDGET, residents=[resident("a", 60)]) == Load()
    assert fits_beside(40, budget_bytes=BUDGET, residents=[resident("a", 60)])
    assert not fits_beside(41, budget_bytes=BUDGET, residents=[resident("a", 60)])


def test_what_is_larger_than_everything_never_fits() -> None:
    assert make_room("b", 130, budget_bytes=BUDGET, residents=[]) == Never(30)


def test_the_one_unused_for_longest_goes_first() -> None:
    there = [resident("a", 40, used=5), resident("b", 40, used=2), resident("c", 20, used=9)]
    assert make_room("d", 30, budget_bytes=BUDGET, residents=there) == Load(("b",))
    assert make_room("d", 50, budget_bytes=BUDGET, residents=there) == Load(("b", "a"))


def test_a_small_one_is_spared_where_a_larger_one_goes_anyway() -> None:
    there = [resident("a", 10, used=1), resident("b", 90, used=2)]
    assert make_room("d", 60, budget_bytes=BUDGET, residents=there) == Load(("b",))


def test_one_in_use_is_waited_for_only_if_no_idle_ones_suffice() -> None:
    there = [resident("a", 50, used=1, users=1), resident("b", 50, used=9)]
    assert make_room("c", 50, budget_bytes=BUDGET, residents=there) == Load(("b",))
    assert make_room("c", 80, budget_bytes=BUDGET, residents=there) == Wait(("b", "a"))
    assert make_room("c", 80, budget_bytes=BUDGET, residents=[resident("a", 50, loading=True)]) == Wait(("a",))


places = st.tuples(st.integers(1, 40), st.integers(0, 9), st.sampled_from([0, 0, 1]), st.sampled_from([False, True]))
residents = st.lists(places, max_size=8).map(
    lambda found: [
        resident(f"m{number}", size, used=used, users=users, loading=loading)
        for number, (size, used, users, loading) in enumerate(found)
    ]
)


@given(residents, st.integers(1, 150))
def test_every_decision_keeps_its_promises(there: list[Resident], size: int) -> None:
    held = sum(one.needed_bytes for one in there)
    budget = max(BUDGET, held)
    decision = make_room("new", size, budget_bytes=budget, residents=there)
    by_key = {one.key: one for one in there}
    match decision:
        case Never(missing):
            assert size - missing == budget
        case Load(evict) | Wait(evict):
            left = held - sum(by_key[key].needed_bytes for key in evict)
            assert left + size <= budget
            # None of them goes without need.
            assert all(left + by_key[key].needed_bytes + size > budget for key in evict)
            assert all(by_key[key].idle for key in evict) == isinstance(decision, Load)
            if isinstance(decision, Wait):
                idle = sum(one.needed_bytes for one in there if one.idle)
                assert held - idle + size > budget
        case Stay():
            raise AssertionError("it was not there")
