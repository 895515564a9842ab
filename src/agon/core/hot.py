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
_WORDS = Struct("<4I")
_HALVED = bytes(count >> 1 for count in range(256))


class HotSet:
    """At most `entries` values of at most `size_bytes` together. Keys are digests: uniform, and at least 16 bytes."""

    def __init__(self, entries: int, size_bytes: int) -> None:
        if entries < 1 or size_bytes < 1:
            raise ValueError("a hot set needs room for one entry")
        self._most_entries: Final = entries
        self._most_bytes: Final = size_bytes
        self._window_entries = max(1, int(entries * _WINDOW_SHARE))
        self._window: OrderedDict[bytes, bytes] = OrderedDict()
        self._main: OrderedDict[bytes, bytes] = OrderedDict()
        self._askings = _Askings(entries * _COUNTED_AN_ENTRY)
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
        window = self._window
        while window and (len(window) > self._window_entries or self._over(0)):
            self._judge(*window.popitem(last=False))
        # Nothing is left in the window; a value in the main part has grown.
        while self._over(0):
            self._drop(next(iter(self._main)))

    def clear(self) -> None:
        self._window.clear()
        self._main.clear()
        self.size_bytes = 0

    def _judge(self, key: bytes, value: bytes) -> None:
        """Let a value of the window into the main part, if it is worth more than those who have to leave for it."""
        if self._over(1):
            worth = self._askings.count(key)
            while self._over(1):
                rival = next(iter(self._main), None)
                if rival is None or worth <= self._askings.count(rival):
                    self.size_bytes -= _size(key, value)
                    self.evicted += 1
                    return
                self._drop(rival)
        self._main[key] = value

    def _over(self, more: int) -> bool:
        """Whether it is too full, with so many entries more that are weighed already."""
        entries = len(self._window) + len(self._main) + more
        return entries > self._most_entries or self.size_bytes > self._most_bytes

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

    def add(self, key: bytes) -> None:
        counts = self._counts
        for place in self._places(key):
            if counts[place] < 255:
                counts[place] += 1
        self._added += 1
        if self._added >= self._remembered:
            self._counts = counts.translate(_HALVED)
            self._added //= 2

    def count(self, key: bytes) -> int:
        counts = self._counts
        first, second, third, fourth = self._places(key)
        return min(counts[first], counts[second], counts[third], counts[fourth])

    def _places(self, key: bytes) -> tuple[int, int, int, int]:
        first, second, third, fourth = _WORDS.unpack_from(key)
        mask, width = self._mask, self._width
        return first & mask, (second & mask) + width, (third & mask) + 2 * width, (fourth & mask) + 3 * width
