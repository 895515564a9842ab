import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agon.core.errors import InvalidInput, NotFound
from agon.scoring.reward.features import FEATURE_NAMES
from agon.scoring.reward.head import HIDDEN, Head, Recipe, parse_recipe, plain_head, recipe_text
from agon.scoring.reward.scales import FeatureScale
from agon.scoring.reward.spec import RewardSpec, load_spec, spec_text


def recipe(seed: int = 0) -> Recipe:
    chance = np.random.default_rng(seed)
    scales = tuple(FeatureScale(name, 0.5, 2.0) for name in FEATURE_NAMES)
    size = len(scales)
    head = Head(scales, chance.normal(size=size), chance.normal(size=HIDDEN), chance.normal(size=HIDDEN), 0.1)
    return Recipe(head.rounded(), "e" * 64, seed=seed, training={"files": []})


def test_a_recipe_comes_back_as_it_was() -> None:
    text = recipe_text(recipe())
    back = parse_recipe(text, "here")
    assert recipe_text(back) == text
    assert back.revision == recipe().revision


def test_whatever_decides_a_score_changes_the_revision() -> None:
    first = recipe()
    head = first.head
    others = [
        replace(first, encoder="f" * 64),
        replace(first, max_tokens=128),
        replace(first, prompt_tokens=32),
        replace(first, head=replace(head, bias=0.2)),
        replace(first, head=replace(head, answer_weights=head.answer_weights + 1)),
        replace(first, head=replace(head, scales=(replace(head.scales[0], scale=3.0), *head.scales[1:]))),
    ]
    assert len({each.revision for each in (first, *others)}) == len(others) + 1
    assert replace(first, training=None, seed=9).revision == first.revision


def test_dividing_by_a_temperature_divides_the_scores() -> None:
    head, chance = recipe().head, np.random.default_rng(1)
    rows = chance.normal(size=(4, len(FEATURE_NAMES))), np.ones(4), chance.normal(size=(4, HIDDEN))
    before, after = (each.scores(*rows, rows[2]) for each in (head, head.divided(2.0)))
    np.testing.assert_allclose(before / 2, after)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 99}, "another version"),
        ({"features_version": 0}, "another version"),
        ({"answer": [1.0]}, "does not fit"),
        ({"bias": "x"}, "no recipe"),
    ],
)
def test_a_recipe_that_does_not_fit_is_refused(change: dict[str, object], words: str) -> None:
    data = json.loads(recipe_text(recipe())) | change
    with pytest.raises(InvalidInput, match=words):
        parse_recipe(json.dumps(data), "here")


def test_a_plain_head_knows_no_features() -> None:
    text = recipe_text(Recipe(plain_head(), "e" * 64))
    assert parse_recipe(text, "here").head.scales == ()


def spec() -> RewardSpec:
    scales = tuple(FeatureScale(name, 0.0, 1.0) for name in FEATURE_NAMES)
    return RewardSpec("r", 256, 96, scales, 1.0, "e" * 64, 0, {})


def test_a_spec_comes_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "reward.json").write_text(spec_text(spec()))
    assert load_spec(tmp_path) == spec()


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"format": 7}', spec_text(spec()).replace('"variety"', '"velocity"')],
)
def test_what_is_no_spec_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "reward.json").write_text(content)
    with pytest.raises(InvalidInput):
        load_spec(tmp_path)


def test_a_folder_without_a_model_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        load_spec(tmp_path)
