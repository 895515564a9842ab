"""Training a reward model."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from agon.bootstrap.reward_pairs import Judged, Watch, require_pairs, unwatched
from agon.core.errors import InvalidInput
from agon.core.scoring import Sample
from agon.engines.encoder.forward import vectors_of
from agon.engines.encoder.graph import ANSWER, PAIR, reward_graph, with_vectors
from agon.engines.encoder.tokeniser import WordPieces
from agon.engines.encoder.weights import VOCABULARY, read_tensors
from agon.engines.fetch_hub import digest_of
from agon.scoring.reward.encoding import encode_each
from agon.scoring.reward.evaluation import evaluation, prompt_digest
from agon.scoring.reward.features import features, polarity
from agon.scoring.reward.folds import groups_of
from agon.scoring.reward.head import MAX_TOKENS, PROMPT_TOKENS, Recipe, plain_head
from agon.scoring.reward.preferences import Preference
from agon.scoring.reward.training import Numbers, Trial, choose, cross_validate, fit_head, fit_temperature

_FEWEST_PAIRS: Final = 20


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int = 0
    folds: int = 5
    repeats: int = 3
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Trained:
    recipe: Recipe
    measured: dict[str, Any]
    """On prompts that were not trained on: see `evaluation`."""


def train(judged: Judged, weights: Path, plan: Plan, watch: Watch = unwatched) -> Trained:
    """Fit a head to judged pairs, and measure by cross-validation how well such heads do.

    The same pairs, weights and plan make the same recipe. Raises `InvalidInput` for too few pairs.
    """
    require_pairs(judged, at_least=_FEWEST_PAIRS)
    pairs, names = judged.pairs, [pair.file for pair in judged.pairs]
    groups = groups_of(pairs)
    if (prompts := int(groups.max()) + 1) < 2 * plan.folds:
        raise InvalidInput(f"{prompts} unrelated prompts are too few for {plan.folds} folds.", code="too_few_pairs")
    numbers = numbers_of(pairs, weights, threads=plan.threads, watch=watch)
    fits = plan.folds * plan.repeats
    trials = cross_validate(
        numbers,
        groups,
        names,
        folds=plan.folds,
        repeats=plan.repeats,
        seed=plan.seed,
        watch=lambda: watch("cross-validating", 1, fits),
    )
    outcomes = np.tile(numbers.outcomes, plan.repeats)
    temperature = fit_temperature(np.concatenate([trial.differences for trial in trials]), outcomes)
    measured = evaluation(pairs, [trial.differences / temperature for trial in trials], seed=plan.seed)
    chance = np.random.default_rng([plan.seed, plan.repeats])
    settings = choose(numbers, groups, names, folds=plan.folds, chance=chance)
    head = fit_head(numbers, settings).divided(temperature).rounded()
    training = _account(judged, plan, trials, measured) | {"settings": asdict(settings)}
    return Trained(Recipe(head, digest_of(weights), plan.seed, temperature, training), measured)


def numbers_of(pairs: Sequence[Preference], weights: Path, *, threads: int, watch: Watch = unwatched) -> Numbers:
    """Return pairs as the numbers that heads are fitted to."""
    samples = [Sample(pair.prompt, answer) for pair in pairs for answer in (pair.answer_a, pair.answer_b)]
    rows = np.stack([_watched_features(sample, len(samples), watch) for sample in samples])
    limits = _Limits()
    sequences = encode_each(limits, WordPieces(VOCABULARY), samples)
    graph = with_vectors(reward_graph(read_tensors(weights), plain_head()))
    vectors = vectors_of(graph, sequences, threads=threads, watch=lambda done: watch("encoding", done, len(samples)))
    shape = (len(pairs), 2, -1)
    return Numbers(
        features=rows.reshape(shape),
        signs=np.array([polarity(pair.prompt) for pair in pairs], np.float64),
        vectors=vectors[ANSWER].astype(np.float64).reshape(shape),
        products=vectors[PAIR].astype(np.float64).reshape(shape),
        outcomes=np.array([pair.outcome for pair in pairs], np.float64),
    )


@dataclass(frozen=True, slots=True)
class _Limits:
    max_tokens: int = MAX_TOKENS
    prompt_tokens: int = PROMPT_TOKENS


def _watched_features(sample: Sample, total: int, watch: Watch) -> np.ndarray[Any, np.dtype[np.float64]]:
    watch("reading", 1, total)
    return features(sample.prompt, sample.answer)


def _account(judged: Judged, plan: Plan, trials: Sequence[Trial], measured: Mapping[str, Any]) -> dict[str, Any]:
    """What `reward.json` tells of the training."""
    chosen = Counter(str(asdict(settings)) for trial in trials for settings in trial.chosen)
    return {
        "files": [_file_account(judged, name) for name in judged.digests],
        "left_out": len(judged.faults),
        "folds": plan.folds,
        "repeats": plan.repeats,
        "chosen_in_folds": dict(sorted(chosen.items())),
        "measured": {name: measured[name] for name in ("pairs", "prompts", "accuracy", "low", "high", "baselines")}
        | {"by_file": {name: part["accuracy"] for name, part in measured["by_file"].items()}},
        "prompts": sorted({prompt_digest(pair.prompt) for pair in judged.pairs}),
    }


def _file_account(judged: Judged, name: str) -> dict[str, Any]:
    pairs = [pair for pair in judged.pairs if pair.file == name]
    return {
        "name": name,
        "sha256": judged.digests[name],
        "pairs": len(pairs),
        "ties": sum(pair.outcome == 0.5 for pair in pairs),
        "licences": sorted({pair.licence for pair in pairs if pair.licence}),
    }
