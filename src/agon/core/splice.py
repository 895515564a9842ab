"""Text of a second attempt at an answer of which a part has been sent already."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stretch:
    offset: int
    """Where in the answer the text belongs, in code points."""
    text: str


class Splice:
    """Places an attempt's text over what earlier attempts have sent.

    While the new text repeats what was sent, nothing is said; from the first difference on, everything is. An engine
    that is deterministic for a seed therefore goes on seamlessly after a failure, and another one replaces the rest.
    """

    def __init__(self, sent: str = "") -> None:
        self._sent = sent
        self._diverged = not sent
        self.text = ""

    def feed(self, text: str) -> Stretch | None:
        """Take the next text of this attempt; returns the stretch that the watchers need, if any."""
        start = len(self.text)
        self.text += text
        if self._diverged:
            return Stretch(start, text)
        same = _common_prefix(self._sent[start:], text)
        if same == len(text):
            return None
        self._diverged = True
        return Stretch(start + same, text[same:])

    def close(self) -> Stretch | None:
        """The attempt is over. If it only repeated what was sent, its last character says where it ended."""
        if self._diverged or not self.text:
            return None
        last = len(self.text) - 1
        return Stretch(last, self.text[last])


def _common_prefix(first: str, second: str) -> int:
    limit = min(len(first), len(second))
    return next((index for index in range(limit) if first[index] != second[index]), limit)
