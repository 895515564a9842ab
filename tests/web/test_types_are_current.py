import hashlib
import re
from pathlib import Path

from agon.api.document import document

TYPES = Path(__file__).parents[2] / "web" / "src" / "lib" / "openapi.d.ts"


def test_the_pages_types_are_those_of_the_api_as_it_is() -> None:
    named = re.search(r"SHA-256 ([0-9a-f]{64})", TYPES.read_text())
    assert named is not None
    current = hashlib.sha256(document().encode()).hexdigest()
    assert named[1] == current, f"The API has changed since {TYPES} was made: `npm run types` in web/ makes it anew."
