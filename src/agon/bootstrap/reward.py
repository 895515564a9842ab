"""The reward model's folder: built when it is first wanted, by whoever comes first."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from agon.core.errors import InvalidInput, NotFound
from agon.engines.encoder.build import build_recipe
from agon.engines.encoder.files import make_folder, one_at_a_time
from agon.engines.encoder.weights import ensure_encoder
from agon.engines.progress import Report, ignore
from agon.scoring.reward.head import Recipe, parse_recipe
from agon.scoring.reward.spec import load_spec

REWARD_FOLDER: Final = "reward"


@cache
def default_recipe() -> Recipe:
    """Return the recipe that comes with Agon."""
    file = files("agon.engines.encoder") / "data" / "recipe.json"
    return parse_recipe(file.read_text(encoding="utf-8"), "The recipe of the default reward model")


def ensure_default(data_dir: Path, report: Report = ignore) -> Path:
    """Return the folder of the default model, building it if it is not there. Blocks: it may fetch the encoder.

    Raises `Unavailable` with a code that says why.
    """
    return ensure_built(default_recipe(), data_dir, report)


def ensure_built(recipe: Recipe, data_dir: Path, report: Report = ignore) -> Path:
    """Return the folder of a recipe's model in the data folder; whoever comes first builds it."""
    folder = data_dir / REWARD_FOLDER / recipe.revision
    if _stands(folder, recipe):
        return folder
    make_folder(folder.parent)
    with one_at_a_time(folder.parent / f".{folder.name}.lock"):
        if not _stands(folder, recipe):
            build_recipe(recipe, ensure_encoder(data_dir / "models", report), folder)
    return folder


def _stands(folder: Path, recipe: Recipe) -> bool:
    try:
        return load_spec(folder).revision == recipe.revision
    except (NotFound, InvalidInput):
        return False


def encoder_of(data_dir: Path, report: Report) -> Path:
    """Return the encoder's weights, fetching them if they are not here."""
    return ensure_encoder(data_dir / "models", report)
