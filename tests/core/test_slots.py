"""Slots are spread evenly, and stay where they are when servers come and go."""

import random
from collections import Counter
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from redis.crc import key_slot

from agon.core.slots import SLOTS, server_of, slot_of, tag_of

urls = st.lists(st.integers(1, 9_999).map(lambda n: f"redis://cache-{n}:6379/0"), min_size=1, max_size=12, unique=True)


def test_a_round_stays_in_its_slot_for_ever() -> None:
    assert [slot_of(UUID(int=number)) for number in range(8)] == [4, 11, 14, 13, 13, 12, 9, 1]
    assert [tag_of(slot) for slot in (0, 7, 15)] == ["{r00}", "{r07}", "{r15}"]


def test_rounds_spread_over_all_slots_evenly() -> None:
    chance = random.Random(1)
    counts = Counter(slot_of(UUID(int=chance.getrandbits(128))) for _ in range(16_000))
    assert len(counts) == SLOTS
    # Five standard deviations of a binomial.
    assert all(abs(count - 1_000) < 155 for count in counts.values())


def test_slots_spread_over_servers_evenly() -> None:
    counts: Counter[int] = Counter()
    for fleet in range(600):
        servers = [f"redis://fleet-{fleet}-{number}:6379" for number in range(4)]
        counts.update(servers.index(server_of(slot, servers)) for slot in range(SLOTS))
    assert all(abs(count - 2_400) < 5 * (9_600 * 0.25 * 0.75) ** 0.5 for count in counts.values())


@given(servers=urls, more=urls, chance=st.randoms(use_true_random=False))
def test_a_new_server_moves_only_what_it_wins(servers: list[str], more: list[str], chance: random.Random) -> None:
    new = more[0]
    assume(new not in servers)
    together = [*servers, new]
    chance.shuffle(together)
    for slot in range(SLOTS):
        before, after = server_of(slot, servers), server_of(slot, together)
        assert after in {before, new}
        assert server_of(slot, list(reversed(together))) == after


@given(servers=urls)
def test_passwords_move_nothing_and_databases_differ(servers: list[str]) -> None:
    secret = [url.replace("//", "//user:pass@word@") for url in servers]
    for slot in range(SLOTS):
        assert secret.index(server_of(slot, secret)) == servers.index(server_of(slot, servers))
    both = [f"unix:///run/valkey.sock?db={number}" for number in range(2)]
    assert {server_of(slot, both) for slot in range(SLOTS)} == set(both)


def test_no_servers_are_no_place() -> None:
    with pytest.raises(ValueError, match="empty"):
        server_of(0, [])


def test_a_cluster_spreads_the_slots() -> None:
    """Over three nodes as they are set up by default, each with a third of the cluster's own slots."""
    nodes = Counter(key_slot(f"agon:{tag_of(slot)}:round:x:board".encode()) * 3 // 16_384 for slot in range(SLOTS))
    assert len(nodes) == 3
    assert all(key_slot(f"a:{tag_of(3)}:{part}".encode()) == key_slot(b"r03") for part in ("board", "page"))
