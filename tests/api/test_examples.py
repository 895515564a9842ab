"""Whatever goes into a route or comes out of it well has an example in the OpenAPI document, and a true one."""

from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from pydantic import BaseModel

from agon import config
from agon.api import (
    admin_schemas,
    board_schemas,
    errors,
    openai_document,
    round_schemas,
    round_standings_schemas,
    schemas,
    scorer_schemas,
)
from agon.api.app import create_app
from agon.api.routes import engines
from agon.config import Settings
from agon.telemetry import Metrics

DOCUMENT: dict[str, Any] = create_app(Settings(), Metrics(CollectorRegistry())).openapi()
PLAIN = {"HTTPValidationError"}


def models() -> dict[str, type[BaseModel]]:
    rounds = (engines, round_schemas, round_standings_schemas, scorer_schemas)
    rooms = (schemas, admin_schemas, board_schemas, *rounds, errors, openai_document, config)
    found = [value for room in rooms for value in vars(room).values()]
    return {kind.__name__: kind for kind in found if isinstance(kind, type) and issubclass(kind, BaseModel)}


def references(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        for key, value in part.items():  # pyright: ignore[reportUnknownVariableType]
            if key == "$ref":
                yield str(value).rsplit("/", 1)[-1]  # pyright: ignore[reportUnknownArgumentType]
            else:
                yield from references(value)  # pyright: ignore[reportUnknownArgumentType]


def exchanged() -> set[str]:
    """The schemas that stand directly in a request's body or a response."""
    names: set[str] = set()
    for path in DOCUMENT["paths"].values():
        for operation in path.values():
            for part in (operation.get("requestBody"), *operation["responses"].values()):
                names.update(references(part))
    return names - PLAIN


@pytest.mark.parametrize("name", sorted(exchanged()))
def test_what_is_exchanged_has_a_true_example(name: str) -> None:
    schema = DOCUMENT["components"]["schemas"][name]
    examples = schema.get("examples") or [
        {field: value["examples"][0] for field, value in schema["properties"].items() if value.get("examples")}
    ]
    for example in examples:
        models()[name].model_validate(example)


def test_the_examples_are_looked_at() -> None:
    assert {"ConversationOut", "VoteBody", "VoteOut", "BoardOut", "ErrorBody", "ContestantSettings"} <= exchanged()
