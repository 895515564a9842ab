"""Sums that an answer does, and whether they are right, in the base its prompt speaks of."""

import re
from typing import Final

from agon.scoring.reward.reading import Pair, share

_BASE: Final = re.compile(r"\bbase[- ](\d{1,2})\b", re.IGNORECASE)
_NUMBER: Final = r"-?\d+(?:,\d{3})*(?:\.\d+)?"
_EQUATION: Final = re.compile(
    rf"(?<![\w.)+*/^-])({_NUMBER})\s*([-+*/x×÷−])\s*({_NUMBER})\s*=\s*\$?({_NUMBER})(?![\d^*/+-]|\s*[-+*/x×÷])"  # noqa: RUF001
)
_ASKED: Final = re.compile(rf"(?<![\w.)+*/^-])({_NUMBER})\s*([-+*/x×÷])\s*({_NUMBER})\s*(?:\?|=|$)")  # noqa: RUF001
_LONGEST: Final = 15


def arithmetic(pair: Pair) -> dict[str, float]:
    """Return how many of the answer's sums are right and wrong, and whether it has what was asked."""
    base = _base(pair.prompt.text)
    judged = [_right(found[1], found[2], found[3], found[4], base) for found in _EQUATION.finditer(pair.answer.text)]
    verdicts = [verdict for verdict in judged if verdict is not None]
    return {
        "wrong_sums": share(verdicts.count(False), len(verdicts)),
        "right_sums": share(verdicts.count(True), len(verdicts)),
        "asked_sum": _asked_sum(pair, base),
    }


def _base(prompt: str) -> int:
    bases = {int(each) for each in _BASE.findall(prompt)}
    base = bases.pop() if len(bases) == 1 else 10
    return base if 2 <= base <= 36 else 10


def _value(text: str, base: int) -> float | None:
    plain = text.replace(",", "")
    if len(plain) > _LONGEST:
        return None
    try:
        return float(plain) if base == 10 or "." in plain else float(int(plain, base))
    except ValueError:
        return None


def _result(first: str, sign: str, second: str, base: int) -> float | None:
    a, b = _value(first, base), _value(second, base)
    if a is None or b is None:
        return None
    match sign:
        case "+":
            return a + b
        case "-" | "−":  # noqa: RUF001  the true minus sign is meant
            return a - b
        case "/" | "÷":
            return a / b if b else None
        case _:
            return a * b


def _right(first: str, sign: str, second: str, total: str, base: int) -> bool | None:
    result, said = _result(first, sign, second, base), _value(total, base)
    if result is None:
        return None
    # A number with digits that the base does not have is wrong.
    return said is not None and abs(result - said) <= max(0.006, 1e-3 * abs(result) if "." in total else 0)


def _asked_sum(pair: Pair, base: int) -> float:
    """Return 1 if the last number of the answer is what the prompt's sum makes, -1 if not, 0 where none was asked."""
    asked = list(_ASKED.finditer(pair.prompt.text))
    if len(asked) != 1:
        return 0.0
    result = _result(asked[0][1], asked[0][2], asked[0][3], base)
    said = re.findall(_NUMBER, pair.answer.text)
    if result is None or not said:
        return 0.0 if result is None else -1.0
    last = _value(said[-1], base)
    return 1.0 if last is not None and abs(last - result) < 0.006 else -1.0
