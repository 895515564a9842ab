"""A reward model as a folder: graph, word list and `reward.json`, there as a whole or not at all."""

from pathlib import Path
from typing import Final

from agon.core.errors import Unavailable
from agon.engines.encoder.files import replace_folder
from agon.engines.encoder.graph import check_graph, reward_graph
from agon.engines.encoder.weights import VOCABULARY, read_tensors
from agon.engines.fetch_hub import digest_of
from agon.scoring.reward.head import Head, Recipe, recipe_text
from agon.scoring.reward.spec import GRAPH_FILE, SPEC_FILE, VOCABULARY_FILE, RewardSpec, spec_text

RECIPE_FILE: Final = "recipe.json"
"""All that makes the folder again out of the encoder's weights."""


def build_model(weights: Path, out: Path, *, head: Head) -> RewardSpec:
    """Write a model folder from the encoder's weights and a head that was trained elsewhere; see `build_recipe`."""
    return build_recipe(Recipe(head, digest_of(weights)), weights, out)


def build_recipe(recipe: Recipe, weights: Path, out: Path) -> RewardSpec:
    """Write a model folder, replacing one that is there, and return its spec. Equal inputs make equal bytes.

    Raises `InvalidInput` where the weights cannot be read, `Unavailable` where they are not those of the recipe or the
    folder cannot be written.
    """
    if (found := digest_of(weights)) != recipe.encoder:
        raise Unavailable(
            f"{weights} is not the encoder this head was trained for: its SHA-256 is {found}, not {recipe.encoder}.",
            code="weights_digest",
        )
    graph = reward_graph(read_tensors(weights), recipe.head)
    check_graph(graph)
    spec = RewardSpec(
        revision=recipe.revision,
        max_tokens=recipe.max_tokens,
        prompt_tokens=recipe.prompt_tokens,
        features=tuple(recipe.head.scales),
        temperature=recipe.temperature,
        encoder=recipe.encoder,
        seed=recipe.seed,
        training=recipe.training or {},
    )
    files = {
        GRAPH_FILE: graph.SerializeToString(deterministic=True),
        VOCABULARY_FILE: VOCABULARY.read_bytes(),
        RECIPE_FILE: recipe_text(recipe).encode(),
        SPEC_FILE: spec_text(spec).encode(),
    }
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"{out} cannot be written: {error.strerror or error}.", code="encoder_storage") from None
    replace_folder(out, files)
    return spec
