"""Which weights a configured name speaks of. Loads no engine, so that a gateway can check an entry."""

import re

from agon.core.errors import InvalidInput
from agon.engines.catalogue import BUILT_INS, built_in
from agon.engines.sources import Weights, parse_source


def weights_of(name: str, words: str, sha256: str | None) -> Weights:
    """The weights that `words` speak of: a built-in model by name, or a source. Raises `InvalidInput`."""
    return _weights(name, words, sha256, field="weights")


def draft_of(name: str, words: str) -> Weights:
    """The weights that guess ahead for a contestant. Raises `InvalidInput`."""
    return _weights(f"{name}-draft", words, None, field="draft")


def _weights(name: str, words: str, sha256: str | None, *, field: str) -> Weights:
    if any(model.name == words for model in BUILT_INS):
        return built_in(words).weights
    file_name = re.sub(r"[^A-Za-z0-9._-]+", "-", name)
    try:
        source = parse_source(words)
    except InvalidInput as error:
        raise InvalidInput(error.message, field=field) from None
    return Weights(file_name, source, sha256=sha256)
