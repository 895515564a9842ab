"""A model's verdicts on judged pairs, measured: what `agon reward evaluate` says, as values that JSON can hold."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agon.scoring.reward.baselines import longer_answer, tfidf_by_folds
from agon.scoring.reward.fitting import Floats
from agon.scoring.reward.folds import groups_of, plain
from agon.scoring.reward.metrics import Accuracy, accuracy_of, calibration_of, credits_of, length_report
from agon.scoring.reward.preferences import Preference
from agon.scoring.reward.training import fit_temperature

FOLDS: Final = 5
FILLER: Final = (
    "It is important to note that there are many things to consider here. This is a topic that many people find "
    "interesting, and there is much more that could be said about it. In general, it depends on the situation. "
)
"""Words that say nothing."""


@dataclass(frozen=True, slots=True)
class Padding:
    """What happens to answers that are made longer without being made better."""

    answers: int
    gained: float
    """Share of them whose score rose by more than a hundredth."""
    change: float
    """Mean change of the score."""


def prompt_digest(prompt: str) -> str:
    """Return the name under which a model remembers that it was trained on a prompt."""
    return hashlib.sha256(plain(prompt).encode()).hexdigest()[:12]


def lengthened(answer: str) -> Mapping[str, str]:
    """Return an answer made longer in ways that add nothing."""
    return {
        "said_twice": f"{answer}\n\n{answer}",
        "filler": f"{answer} {FILLER * max(1, round(len(answer) / len(FILLER)))}".rstrip(),
        "blank_lines": answer + "\n" * 200,
    }


def padding_of(before: Floats, after: Mapping[str, Floats]) -> dict[str, Padding]:
    """Return what became of the scores by the way in which answers were lengthened."""
    return {
        name: Padding(len(before), float((scores - before > 0.01).mean()), float((scores - before).mean()))
        for name, scores in after.items()
        if len(before)
    }


def evaluation(
    pairs: Sequence[Preference], runs: Sequence[Floats], *, seen: Collection[str] = (), seed: int = 0
) -> dict[str, Any]:
    """Return everything that is measured on pairs.

    `runs` are differences of scores, s_a - s_b, by one model or more, as the repetitions of a cross-validation have
    them; credits are their means. `seen` are digests of the prompts the model was trained on.
    """
    outcomes = np.array([pair.outcome for pair in pairs], np.float64)
    groups = groups_of(pairs)
    words = tfidf_by_folds(pairs, groups, folds=FOLDS, seed=seed)
    rivals = {"longer_answer": longer_answer(pairs)} | ({} if words is None else {"tfidf": words})
    credit = np.mean([credits_of(run, outcomes) for run in runs], axis=0)
    together, judged = np.concatenate(runs), np.tile(outcomes, len(runs))
    rival_credit = {name: credits_of(values, outcomes) for name, values in rivals.items()}
    known = np.array([prompt_digest(pair.prompt) in seen for pair in pairs], bool)
    lengths = np.array([[len(pair.answer_a), len(pair.answer_b)] for pair in pairs], np.int64).reshape(-1, 2)

    def parts(names: Sequence[str]) -> dict[str, Any]:
        return {
            name: _of(accuracy_of(credit[inside], groups[inside], seed=seed))
            | {rival: accuracy_of(values[inside], groups[inside]).accuracy for rival, values in rival_credit.items()}
            for name in sorted(set(names))
            for inside in [np.array([each == name for each in names])]
        }

    return {
        **_of(accuracy_of(credit, groups, seed=seed)),
        "ties": int((outcomes == 0.5).sum()),
        "by_source": parts([pair.source for pair in pairs]),
        "by_file": parts([pair.file for pair in pairs]),
        "baselines": {"random": {"accuracy": 0.5}}
        | {name: _of(accuracy_of(values, groups, seed=seed)) for name, values in rival_credit.items()},
        "unseen": _part(credit, groups, ~known, seed),
        "seen_in_training": _part(credit, groups, known, seed),
        "calibration": asdict(
            calibration_of(together, judged, temperature=fit_temperature(together, judged)),
        ),
        "length": asdict(length_report(together, judged, np.tile(lengths, (len(runs), 1)))),
    }


def _part(credit: Floats, groups: NDArray[np.int64], chosen: NDArray[np.bool_], seed: int) -> dict[str, Any]:
    return _of(accuracy_of(credit[chosen], groups[chosen], seed=seed))


def _of(accuracy: Accuracy) -> dict[str, Any]:
    return asdict(accuracy)
