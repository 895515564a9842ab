"""Text of a second attempt at an answer of which a part has been sent already."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Stretch:
    offset: int
    """Where in the answer the text belongs, in code points."""
    text: str
    tokens: int = field(default=0, compare=False)
    """About how many the text is."""
    logprobs: tuple[Mapping[str, Any], ...] = ()
    """Of the text's tokens, where they were asked for."""

    def __add__(self, other: "Stretch") -> "Stretch":
        """This one and the one that follows it."""
        return Stretch(self.offset, self.text + other.text, self.tokens + other.tokens, self.logprobs + other.logprobs)


class Splice:
    """Places an attempt's text over what earlier attempts have sent.

    While the new text repeats what was sent, nothing is said; from the first difference on, everything is. An engine
    that is deterministic for a seed therefore goes on seamlessly after a failure, and another one replaces the rest.
    One that was given what was sent `continues` behind it.
    """

    def __init__(self, sent: str = "", *, continues: bool = False) -> None:
        self._sent = sent
        self._diverged = continues or not sent
        self.text = sent if continues else ""

    @property
    def shown(self) -> str:
        """The answer as its watchers have it once they have everything that was fed."""
        return self.text if self._diverged else self._sent

    def feed(self, text: str, tokens: int = 1) -> Stretch | None:
        """Take the next text of this attempt; returns the stretch that the watchers need, if any."""
        start = len(self.text)
        self.text += text
        if self._diverged:
            return Stretch(start, text, tokens)
        same = _common_prefix(self._sent[start:], text)
        if same == len(text):
            return None
        self._diverged = True
        return Stretch(start + same, text[same:], tokens)

    def close(self) -> Stretch | None:
        """The attempt is over. If it only repeated what was sent, its last character says where it ended."""
        if self._diverged or not self.text:
            return None
        self._diverged = True
        last = len(self.text) - 1
        return Stretch(last, self.text[last])


def _common_prefix(first: str, second: str) -> int:
    limit = min(len(first), len(second))
    return next((index for index in range(limit) if first[index] != second[index]), limit)
