"""Which of several reduced engines to keep. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agon.engines.encoder.quantise import Recipe
from agon.scoring.fidelity import Fidelity, Gates, Verdict, decide

STRICT: Final = Gates(kl_mean=0.01, kl_p99=0.10, top1=0.95, pairs=1)
"""What a new engine must keep: far less than the drift guard allows, so that it does not soon end there."""
_WORTH: Final = 4 / 3
"""What faith may cost: engines within this factor of the fastest are fast enough."""


@dataclass(frozen=True, slots=True)
class Candidate:
    recipe: Recipe
    fidelity: Fidelity
    seconds: float
    """Of processor time, for the same texts as the others: what else runs on the machine does not decide."""
    size: int
    """In bytes."""


def choose(candidates: Sequence[Candidate], gates: Gates = STRICT) -> Candidate | None:
    """Return the most faithful of the fast ones among those that lose little enough, or None if all lose too much."""
    faithful = [each for each in candidates if decide(each.fidelity, None, gates).verdict is Verdict.PROMOTE]
    if not faithful:
        return None
    fastest = min(each.seconds for each in faithful)
    return min(
        (each for each in faithful if each.seconds <= fastest * _WORTH),
        key=lambda each: (each.fidelity.kl_mean, each.seconds),
    )
