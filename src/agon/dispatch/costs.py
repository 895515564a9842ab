"""What a turn will cost, in tokens, before anybody has counted them. PURE."""

from collections.abc import Sequence

from agon.core.generation import GenerationRequest
from agon.core.placement import AnswerRef, Cost, Job

_ASCII_CHARS_PER_TOKEN = 4
_OTHER_BYTES_PER_TOKEN = 3
"""In UTF-8: a token is one Chinese or Japanese character, or one and a half Cyrillic or accented letters."""
_MESSAGE_TOKENS = 4
"""What a chat template puts around each message."""
_ANSWER_PER_PROMPT = 1.5
_LEAST_ANSWER_TOKENS = 32
"""The shortest questions do not have the shortest answers."""
_MOST_ANSWER_TOKENS = 1024


def tokens_of(text: str) -> int:
    """Estimate how many tokens a text is, without any model's tokenizer."""
    ascii_chars = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    other_bytes = 0 if ascii_chars == len(text) else len(text.encode("utf-8", "surrogatepass")) - ascii_chars
    return round(ascii_chars / _ASCII_CHARS_PER_TOKEN + other_bytes / _OTHER_BYTES_PER_TOKEN) + bool(text)


def turn_cost(prompt: str, max_tokens: int, *, history: Sequence[str] = ()) -> Cost:
    """Estimate a turn: `history` holds the prompts and answers before it, which the replica that had them still knows.

    The answer is taken to be 1.5 times the prompt, within its budget.
    """
    cached = sum(tokens_of(text) + _MESSAGE_TOKENS for text in history)
    asked = cached + tokens_of(prompt) + _MESSAGE_TOKENS
    output = min(max(round(_ANSWER_PER_PROMPT * asked), _LEAST_ANSWER_TOKENS), max_tokens, _MOST_ANSWER_TOKENS)
    return Cost(prompt=asked, output=output, cached=cached)


def request_cost(request: GenerationRequest) -> Cost:
    """`turn_cost` of a request."""
    *history, prompt = [message.content for message in request.messages] or [""]
    return turn_cost(prompt, request.sampling.max_tokens, history=history)


def prefix_of(ref: AnswerRef) -> str:
    """Under what the replica is noted that has read this side's dialogue."""
    return f"{ref.conversation}:{ref.side.value}"


def job_for(ref: AnswerRef, request: GenerationRequest) -> Job:
    """The job of a turn that the ledger knows."""
    return Job(ref, request_cost(request), prefix_of(ref))
