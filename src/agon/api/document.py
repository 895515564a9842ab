"""Prints the OpenAPI document, from which the page's types are made, without opening any store."""

import json
import sys

from agon.api.app import create_app
from agon.config import Settings


def document() -> str:
    """The document as JSON whose bytes change only when the API does."""
    return json.dumps(create_app(Settings()).openapi(), sort_keys=True, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(document().encode())
