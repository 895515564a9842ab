"""Which digests were ever seen, in a few bits each: never a wrong "no", now and then a wrong "perhaps". PURE.

A classic Bloom filter whose size is a power of two. Digests are uniform already, so their own first 16 bytes are the
two hashes from which all positions follow (Kirsch and Mitzenmacher, 2006).
"""

import math
from collections.abc import Sequence
from struct import Struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

HASHED_BYTES: Final = 16
"""So much of a digest decides; it must be uniform."""
_MOST_PROBES = 16
_LEAST_BITS = 1 << 10
_WORDS = Struct("<2Q")
_MANY = 24
"""From so many digests on, arrays are quicker than a loop."""


class Bloom:
    """Sized for `capacity` digests at a share of `wrong` answers; how many it holds decides when it is full.

    Keys are counted when they change it, so `len` is a little low once it is crowded and never counts twice.
    """

    def __init__(self, capacity: int, wrong: float = 0.001) -> None:
        if capacity < 1 or not 0 < wrong < 1:
            raise ValueError("a filter needs a capacity and a share of wrong answers between 0 and 1")
        wanted_bits = -capacity * math.log(wrong) / math.log(2) ** 2
        self._bits = max(_LEAST_BITS, 1 << math.ceil(math.log2(wanted_bits)))
        self._probes = max(1, min(_MOST_PROBES, round(self._bits / capacity * math.log(2))))
        # The size is rounded up, so fewer probes do: the least that keep to the share asked for.
        while self._probes > 1 and _wrong(capacity, self._bits, self._probes - 1) <= wrong:
            self._probes -= 1
        self._mask = self._bits - 1
        self._rounds = range(self._probes)
        self._data = bytearray(self._bits >> 3)
        self._array: NDArray[np.uint8] = np.frombuffer(self._data, dtype=np.uint8)
        self._held = 0
        self.capacity: Final = capacity

    def __len__(self) -> int:
        return self._held

    @property
    def size_bytes(self) -> int:
        return len(self._data)

    @property
    def probes(self) -> int:
        return self._probes

    @property
    def full(self) -> bool:
        return self._held >= self.capacity

    @property
    def wrong(self) -> float:
        """The share of unknown digests that are let through now, from how many it holds."""
        return _wrong(self._held, self._bits, self._probes)

    def __contains__(self, digest: bytes) -> bool:
        data, mask = self._data, self._mask
        at, step = _WORDS.unpack_from(digest)
        step |= 1
        for _ in self._rounds:
            at &= mask
            if not data[at >> 3] >> (at & 7) & 1:
                return False
            at += step
        return True

    def unknown(self, digests: Sequence[bytes]) -> Sequence[bytes]:
        """Those that were certainly never added, in order."""
        if len(digests) == 1:
            return [] if digests[0] in self else digests
        if len(digests) < _MANY:
            return [digest for digest in digests if digest not in self]
        at = self._positions(digests)
        there = np.bitwise_and.reduce(self._array[at >> 3] >> (at & 7), axis=1) & 1
        places: list[int] = np.flatnonzero(there == 0).tolist()
        return [digests[place] for place in places]

    def add(self, digests: Sequence[bytes]) -> None:
        """Only the first 16 bytes of each matter."""
        new = self.unknown(digests)
        if len(new) >= _MANY:
            new = list(dict.fromkeys(digest[:HASHED_BYTES] for digest in new))
            at = self._positions(new)
            np.bitwise_or.at(self._array, at >> 3, (1 << (at & 7)).astype(np.uint8))
            self._held += len(new)
            return
        for digest in new:
            self._held += self._set(digest)

    def _set(self, digest: bytes) -> bool:
        data, mask = self._data, self._mask
        at, step = _WORDS.unpack_from(digest)
        at, step = at & mask, step & mask | 1
        changed = False
        for _ in range(self._probes):
            bit = 1 << (at & 7)
            changed = changed or not data[at >> 3] & bit
            data[at >> 3] |= bit
            at = (at + step) & mask
        return changed

    def _positions(self, digests: Sequence[bytes]) -> NDArray[np.int64]:
        """A row of positions for each digest."""
        words = np.frombuffer(b"".join(digest[:HASHED_BYTES] for digest in digests), dtype="<u8").reshape(-1, 2)
        steps = (words[:, 1:] | np.uint64(1)) * np.arange(self._probes, dtype=np.uint64)
        # Both wrap at 64 bits, which no position sees: it is a power of two that they are taken by.
        return ((words[:, :1] + steps) & np.uint64(self._mask)).astype(np.int64)


def _wrong(held: int, bits: int, probes: int) -> float:
    return (1 - math.exp(-probes * held / bits)) ** probes
