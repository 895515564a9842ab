"""Scorers that other packages bring, by the entry point group `agon.scorers`."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from agon.core.errors import InvalidInput, Unavailable
from agon.core.scoring import Sample, Scored, Scorer
from agon.scoring.isolation import isolating, told

GROUP = "agon.scorers"
_PARTS = ("name", "revision", "compares", "cacheable", "warm_up", "score", "close")


@lru_cache(maxsize=1)
def installed() -> Mapping[str, EntryPoint]:
    """Plug-ins by name; of two with one name the first package in alphabetical order has it. Imports nothing."""
    found: dict[str, EntryPoint] = {}
    for each in sorted(entry_points(group=GROUP), key=package_of):
        # Names with a colon are the arena's own.
        if ":" not in each.name:
            found.setdefault(each.name, each)
    return found


def package_of(point: EntryPoint) -> str:
    """The package that brings a plug-in, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.module


def about(point: EntryPoint) -> str:
    """What the package says of itself, in a line; nothing is imported for it."""
    return str(point.dist.metadata.json.get("summary", "")) if point.dist else ""


def build(point: EntryPoint, options: Mapping[str, Any]) -> Scorer:
    """Make a plug-in's scorer. Raises `InvalidInput` (`scorer_broken`), naming the package."""
    try:
        factory = cast("Callable[..., object]", point.load())
        made = factory(options) if _takes_options(factory) else factory()
    except Exception as error:
        raise _broken(point, told(error)) from error
    missing = [part for part in _PARTS if not hasattr(made, part)]
    if missing:
        raise _broken(point, f"what it makes has no {missing[0]!r}")
    if options and not _takes_options(factory):
        raise _broken(point, "it takes no options, and some are set")
    return Plugged(point, cast("Scorer", made))


def _takes_options(factory: Callable[..., object]) -> bool:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(each.kind in kinds for each in _parameters(factory))


def _parameters(factory: Callable[..., object]) -> Iterable[inspect.Parameter]:
    return inspect.signature(factory).parameters.values()


def _broken(point: EntryPoint, why: str) -> InvalidInput:
    return InvalidInput(
        f"The scorer {point.name!r} of the package {package_of(point)} cannot be used: {why}.",
        code="scorer_broken",
        field="scorer",
    )


def find(name: str) -> EntryPoint:
    """Raises `InvalidInput` (`scorer_unknown`)."""
    try:
        return installed()[name]
    except KeyError:
        there = " or ".join(sorted(installed()))
        raise InvalidInput(
            f"There is no scorer named {name!r}: it is reward, judge:CONTESTANT, grade:CONTESTANT or {there}.",
            code="scorer_unknown",
            field="scorer",
        ) from None


class Plugged:
    """Somebody's scorer, under the name that it is installed by; whatever it does, it fails for single answers."""

    def __init__(self, point: EntryPoint, inner: Scorer) -> None:
        self._inner = inner
        self._package = package_of(point)
        self.name = point.name

    @property
    def revision(self) -> str:
        return f"{self._package} {self._inner.revision}"

    @property
    def compares(self) -> bool:
        return bool(self._inner.compares)

    @property
    def cacheable(self) -> bool:
        return bool(self._inner.cacheable)

    async def warm_up(self) -> None:
        try:
            await self._inner.warm_up()
        except Exception as error:
            if isinstance(error, Unavailable):
                raise
            raise Unavailable(
                f"The scorer {self.name!r} of the package {self._package} does not start: {told(error)}.",
                code="scorer_failed",
            ) from error

    async def score(self, samples: Sequence[Sample]) -> Sequence[Scored]:
        return await isolating(self._inner.score, samples)

    async def close(self) -> None:
        await self._inner.close()
