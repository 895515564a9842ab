"""What a configured model becomes: a contestant, and how it guesses ahead."""

from typing import Any

import pytest
from pydantic import ValidationError

from agon.bootstrap.contestants import contestant_of
from agon.config import ContestantSettings, Settings
from agon.core.contestants import NGRAM, ContestantKind, Origin
from agon.core.errors import InvalidInput
from agon.engines.catalogue import SMOLLM2
from agon.engines.choice import draft_of, weights_of
from agon.engines.sources import HubSource

WEIGHTS = "hf:owner/repo/model.gguf"
URL = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("fields", "draft"),
    [
        ({}, None),
        ({"speculative": "ngram"}, NGRAM),
        ({"draft": "hf:owner/repo/small.gguf"}, "hf:owner/repo/small.gguf"),
    ],
)
def test_a_model_with_weights_may_guess_ahead(fields: dict[str, Any], draft: str | None) -> None:
    entry = ContestantSettings.model_validate({"name": "m", "weights": WEIGHTS, **fields})
    contestant = contestant_of(entry, Settings(), Origin.CONFIG)
    assert (contestant.kind, contestant.model, contestant.draft) == (ContestantKind.EMBEDDED, WEIGHTS, draft)
    assert contestant.prefill


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"url": URL, "speculative": "ngram"}, "belong to weights"),
        ({"url": URL, "draft": WEIGHTS}, "belong to weights"),
        ({"weights": WEIGHTS, "draft": WEIGHTS, "speculative": "ngram"}, "not both"),
        ({"weights": WEIGHTS, "speculative": "crystal ball"}, "ngram"),
        ({"weights": WEIGHTS, "draft": ""}, "at least 1"),
    ],
)
def test_what_makes_no_sense_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        ContestantSettings.model_validate({"name": "m", **fields})


def test_a_draft_that_leads_nowhere_is_named() -> None:
    entry = ContestantSettings(name="m", weights=WEIGHTS, draft="hf:nowhere")
    with pytest.raises(InvalidInput) as caught:
        contestant_of(entry, Settings(), Origin.ADMIN)
    assert caught.value.field == "draft"


def test_a_draft_is_kept_apart_from_the_model_it_helps() -> None:
    model, draft = weights_of("my model", WEIGHTS, None), draft_of("my model", "hf:owner/repo/small.gguf")
    assert (model.name, draft.name) == ("my-model", "my-model-draft")
    assert draft.source == HubSource("owner/repo", "small.gguf")
    assert draft_of("my model", SMOLLM2) == weights_of("other", SMOLLM2, None)


@pytest.mark.parametrize("cold", ["wait", "refuse"])
def test_what_engines_may_take_is_set(cold: str) -> None:
    engine = Settings.model_validate({"engine": {"memory_mib": 900, "cache_mib": 0, "cold": cold}}).engine
    assert (engine.memory_mib, engine.cache_mib, engine.cold) == (900, 0, cold)
    with pytest.raises(ValidationError):
        Settings.model_validate({"engine": {"cold": "freeze"}})
