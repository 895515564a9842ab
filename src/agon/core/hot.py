"""The values that are asked for most, in bounded memory. PURE.

An LRU with a doorman (TinyLFU; Einziger, Friedman and Manes, 2017): a small window takes every new value; what it
pushes out enters the main part only if it was asked for more often than what would have to leave for it. So values that
are asked for once, in whatever number, pass through the window and displace nothing that is in use.
"""

from collections import OrderedDict
from struct import Struct
from typing import Final

_OVERHEAD_BYTES = 200
"""What keeping an entry costs beside its key and value, about: two dictionary places and two objects."""
_WINDOW_SHARE = 0.05
_LARGEST_SHARE = 0.25
"""A value that would take more than this of all bytes is not kept."""
_ROWS = 4
_COUNTED_AN_ENTRY = 128
"""Askings that are remembered for each entry: enough to tell the hot ones where ten times as many are strangers."""
_COUNTED_MOST = 1 << 20
_COUNTED_LEAST = 16
"""For sets so large that remembering would take more memory than the values."""
_WORDS = Struct("<4I")
_HALVED = bytes(count >> 1 for count in range(256))


class HotSet:
    """At most `entries` values of at most `size_bytes` together. Keys are digests: uniform, and at least 16 bytes."""

    def __init__(self, entries: int, size_bytes: int) -> None:
        if entries < 1 or size_bytes < 1:
            raise ValueError("a hot set needs room for one entry")
        self._most_bytes: Final = size_bytes
        self._window_entries = max(1, int(entries * _WINDOW_SHARE))
        self._main_entries = entries - self._window_entries
        self._window: OrderedDict[bytes, bytes] = OrderedDict()
        self._main: OrderedDict[bytes, bytes] = OrderedDict()
        self._rival: bytes | None = None
        self._rival_at = 0
        self._rival_worth = 0
        self._askings = _Askings(min(entries * _COUNTED_AN_ENTRY, max(_COUNTED_MOST, entries * _COUNTED_LEAST)))
        self.size_bytes = 0
        self.evicted = 0
        """Values that had to leave, or were not let in, since the start."""

    def __len__(self) -> int:
        return len(self._window) + len(self._main)

    def __contains__(self, key: bytes) -> bool:
        """Without counting as asking."""
        return key in self._main or key in self._window

    def get(self, key: bytes) -> bytes | None:
        """The value, if it is here; either way it is remembered that it was asked for."""
        self._askings.add(key)
        value = self._main.get(key)
        if value is not None:
            self._main.move_to_end(key)
            return value
        value = self._window.get(key)
        if value is not None:
            self._window.move_to_end(key)
        return value

    def offer(self, key: bytes, value: bytes) -> None:
        """Put a value that could be had again at little cost: only if it is worth more than the next to leave."""
        askings, main = self._askings, self._main
        if len(main) >= self._main_entries or self.size_bytes + _size(key, value) > self._most_bytes:
            rival = next(iter(main), None)
            # Counted once for each rival: who is asked for meanwhile is no longer the next to leave.
            if rival is not self._rival or askings.halved != self._rival_at:
                self._rival, self._rival_at = rival, askings.halved
                self._rival_worth = 0 if rival is None else askings.count(rival)
            if askings.count(key) <= self._rival_worth:
                return
        self.put(key, value)

    def put(self, key: bytes, value: bytes) -> None:
        room = self._main if key in self._main else self._window
        former = room.pop(key, None)
        if former is not None:
            self.size_bytes -= _size(key, former)
        size = _size(key, value)
        if size > self._most_bytes * _LARGEST_SHARE:
            self.evicted += 1
            return
        room[key] = value
        self.size_bytes += size
        if room is self._window and len(room) > self._window_entries:
            self._judge(*room.popitem(last=False))
        if self.size_bytes > self._most_bytes:
            self._shrink()

    def clear(self) -> None:
        self._window.clear()
        self._main.clear()
        self.size_bytes = 0

    def _judge(self, key: bytes, value: bytes) -> None:
        """Let a value that has left the window into the main part, if it is worth more than those who must go."""
        main = self._main
        if len(main) >= self._main_entries or self.size_bytes > self._most_bytes:
            worth = self._askings.count(key)
            while len(main) >= self._main_entries or self.size_bytes > self._most_bytes:
                rival = next(iter(main), None)
                if rival is None or worth <= self._askings.count(rival):
                    self.size_bytes -= _size(key, value)
                    self.evicted += 1
                    return
                self._drop(rival)
        main[key] = value

    def _shrink(self) -> None:
        """Values are large: the window gives first, and what nobody asks for goes."""
        while self._window and self.size_bytes > self._most_bytes:
            self._judge(*self._window.popitem(last=False))
        while self.size_bytes > self._most_bytes:
            self._drop(next(iter(self._main)))

    def _drop(self, key: bytes) -> None:
        self.size_bytes -= _size(key, self._main.pop(key))
        self.evicted += 1


def _size(key: bytes, value: bytes) -> int:
    return len(key) + len(value) + _OVERHEAD_BYTES


class _Askings:
    """About how often each key was asked for lately: a count-min sketch whose counts are halved now and then."""

    def __init__(self, remembered: int) -> None:
        self._width = 1 << max(8, remembered.bit_length())
        self._mask = self._width - 1
        self._counts = bytearray(_ROWS * self._width)
        self._remembered = remembered
        self._added = 0
        self.halved = 0

    def add(self, key: bytes) -> None:
        # Spelled out, as is `count`: this happens with every asking. Each row goes by its own part of the key.
        counts, mask, width = self._counts, self._mask, self._width
        first: int
        second: int
        third: int
        fourth: int
        first, second, third, fourth = _WORDS.unpack_from(key)
        first &= mask
        second = second & mask | width
        third = third & mask | width << 1
        fourth = (fourth & mask) + 3 * width
        # One that is as high as it can be says enough; the smallest of the four is what counts.
        if counts[first] < 255 and counts[second] < 255 and counts[third] < 255 and counts[fourth] < 255:
            counts[first] += 1
            counts[second] += 1
            counts[third] += 1
            counts[fourth] += 1
        self._added += 1
        if self._added >= self._remembered:
            self._counts = counts.translate(_HALVED)
            self._added //= 2
            self.halved += 1

    def count(self, key: bytes) -> int:
        counts, mask, width = self._counts, self._mask, self._width
        first: int
        second: int
        third: int
        fourth: int
        first, second, third, fourth = _WORDS.unpack_from(key)
        return min(
            counts[first & mask],
            counts[second & mask | width],
            counts[third & mask | width << 1],
            counts[(fourth & mask) + 3 * width],
        )
