"""Which models the votes allow to compare at all, found before anything is fitted.

An arc runs from i to j where i scored against j (a win, or half of one). Models without any path of battles between
them lie on different islands. On one island, a maximum of the Bradley-Terry likelihood exists only within a group whose
every member reaches every other along arcs (Ford 1957); a group that only ever beat the rest lies infinitely far above
it.
"""

from dataclasses import dataclass

import numpy as np

from agon.ranking.arrays import BoolArray, IntArray
from agon.ranking.outcomes import PairCounts


@dataclass(frozen=True, slots=True, eq=False)
class Island:
    """Models joined by battles. All arrays hold places in `PairCounts.models`, ascending.

    `core` is the group that gets ratings: the one with most models, then most battles, then the first name. It is empty
    if no two models ever scored against each other along a cycle. Of the rest, `above` only ever beat the core,
    directly or through others; `below` only ever lost to it; `apart` hangs on by battles that place it neither above
    nor below.
    """

    members: IntArray
    core: IntArray
    above: IntArray
    below: IntArray
    apart: IntArray
    groups: tuple[IntArray, ...]
    """The strongly connected groups, each ascending, in order of their first member."""


@dataclass(frozen=True, slots=True)
class Structure:
    """The islands in order of their first member; a model without battles is an island of its own."""

    islands: tuple[Island, ...]


def find_structure(counts: PairCounts) -> Structure:
    """Islands and groups of M models; O(M²) when all is one group, as it is on a board with enough votes."""
    arcs = (counts.wins + counts.draws()) > 0
    size = len(counts.models)
    if size > 1 and _reached(arcs, 0).all() and _reached(arcs.T, 0).all():
        everyone, nobody = np.arange(size), np.arange(0)
        return Structure((Island(everyone, everyone, nobody, nobody, nobody, (everyone,)),))
    return Structure(tuple(_island(counts, arcs, members) for members in _weak(arcs)))


def _reached(arcs: BoolArray, start: int) -> BoolArray:
    """Everything that a path of arcs leads to from `start`, itself included."""
    seen = np.zeros(len(arcs), dtype=np.bool_)
    seen[start] = True
    frontier = np.array([start])
    while frontier.size:
        new = arcs[frontier].any(axis=0) & ~seen
        seen |= new
        frontier = np.flatnonzero(new)
    return seen


def _weak(arcs: BoolArray) -> list[IntArray]:
    either = arcs | arcs.T
    left = np.ones(len(arcs), dtype=np.bool_)
    found: list[IntArray] = []
    while left.any():
        members = _reached(either, int(left.argmax()))
        left &= ~members
        found.append(np.flatnonzero(members))
    return found


def _island(counts: PairCounts, arcs: BoolArray, members: IntArray) -> Island:
    inner = arcs[np.ix_(members, members)]
    groups = _strong(inner)
    core = _core(counts, members, groups)
    above, below = _sides(inner, core)
    rest = np.ones(len(members), dtype=np.bool_)
    for placed in (core, above, below):
        rest[placed] = False
    return Island(
        members, members[core], members[above], members[below], members[rest], tuple(members[group] for group in groups)
    )


def _strong(arcs: BoolArray) -> list[IntArray]:
    """Strongly connected groups: peel models that nothing enters or leaves, then meet forward and backward reach."""
    left = np.arange(len(arcs))
    found: list[IntArray] = []
    while left.size:
        inner = arcs[np.ix_(left, left)]
        alone = ~(inner.any(axis=0) & inner.any(axis=1))
        if alone.any():
            found.extend(left[alone].reshape(-1, 1))
            left = left[~alone]
            continue
        group = _reached(inner, 0) & _reached(inner.T, 0)
        found.append(left[group])
        left = left[~group]
    return sorted(found, key=lambda group: int(group[0]))


def _core(counts: PairCounts, members: IntArray, groups: list[IntArray]) -> IntArray:
    met = counts.met()

    def standing(group: IntArray) -> tuple[int, int, str]:
        places: list[int] = members[group].tolist()
        return -len(group), -int(met[np.ix_(places, places)].sum()), min(counts.models[place] for place in places)

    best = min(groups, key=standing)
    return best if len(best) > 1 else np.arange(0)


def _sides(arcs: BoolArray, core: IntArray) -> tuple[IntArray, IntArray]:
    """Places above and below the core; without a core, those who never dropped a point and those who never scored."""
    scored, dropped = arcs.any(axis=1), arcs.any(axis=0)
    if not core.size:
        return np.flatnonzero(scored & ~dropped), np.flatnonzero(dropped & ~scored)
    below, above = _reached(arcs, int(core[0])), _reached(arcs.T, int(core[0]))
    both = below & above
    return np.flatnonzero(above & ~both), np.flatnonzero(below & ~both)
