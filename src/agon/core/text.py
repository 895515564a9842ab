"""Text that every part of the arena can carry."""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with NUL and lone surrogates replaced, which a model may say but no ledger can hold.

    The length in code points stays the same.
    """
    return _UNSTORABLE.sub("\ufffd", text)


def printable(text: str) -> str:
    """The text with every sign replaced that a terminal would obey, or could not show: it stays on one line."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
