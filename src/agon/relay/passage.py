"""What passes through on the way from a server to a client: looked at no closer than is needed. PURE.

Bytes go on as they are, line by line, so that an answer that breaks off can still be ended with an error.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from agon.core.errors import EngineError, EngineRejected, EngineTruncated

_SPEAKS = re.compile(rb'"(?:content|reasoning_content|reasoning|refusal|arguments|text)"\s*:\s*"[^"]')
_USED = re.compile(rb'"completion_tokens"\s*:\s*(\d{1,7})\b')
"""Numbers that no answer has are left out: what is counted here decides who gets the next turns."""
_DATA = b"data:"
_DONE = b"[DONE]"
_MAX_LINE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Renaming:
    """Puts the contestant's name where the server says the model's. Quotes in texts are escaped: they never match."""

    pairs: tuple[tuple[bytes, bytes], ...]
    """What the server may write, and what stands for it."""

    @classmethod
    def between(cls, theirs: str, ours: str) -> "Renaming":
        if theirs == ours:
            return cls(())
        name = json.dumps(ours, ensure_ascii=False).encode()
        written = {json.dumps(theirs).encode(), json.dumps(theirs, ensure_ascii=False).encode()}
        keys = (b'"model":', b'"model": ')
        return cls(tuple((key + one, key + name) for key in keys for one in sorted(written)))

    def apply(self, data: bytes) -> bytes:
        for theirs, ours in self.pairs:
            data = data.replace(theirs, ours)
        return data

    def narrowed(self, data: bytes) -> "Renaming":
        """Only the spelling that this server turns out to use; as it is, if that cannot be told yet."""
        found = tuple(pair for pair in self.pairs if pair[0] in data)
        return Renaming(found) if len(found) == 1 else self


class Passage:
    """One streamed answer on its way."""

    __slots__ = ("_begun", "_renaming", "_rest", "_secret", "done", "ended", "fault", "spoke", "tokens", "used")

    def __init__(self, renaming: Renaming, secret: str | None = None) -> None:
        self._renaming = renaming
        self._secret = secret
        self._rest = b""
        self._begun = False
        self.fault: EngineError | None = None
        """What came instead of the rest of the answer."""
        self.spoke = False
        """The model has begun to answer."""
        self.ended = False
        """The server has said that the answer is complete."""
        self.done = False
        """The server has said that nothing follows."""
        self.tokens = 0
        """Written, as far as can be told from the number of chunks."""
        self.used: int | None = None
        """Written, as the server says at the end."""

    def feed(self, data: bytes) -> bytes:
        """Take in what came and return what can go on now. Raises `EngineError` for what is no part of an answer."""
        if self._rest:
            data = self._rest + data
        cut = data.rfind(b"\n") + 1
        if cut != len(data):
            self._rest = data[cut:]
            if len(self._rest) > _MAX_LINE_BYTES:
                raise EngineRejected("The engine sent a line without an end.", code="engine_stream_too_large")
            data = data[:cut]
        else:
            self._rest = b""
        if data:
            data = data[: self._look(data)]
            if not self._begun:
                self._begun = True
                self._renaming = self._renaming.narrowed(data)
        return self._renaming.apply(data)

    @property
    def pending(self) -> bool:
        """Whether a line has begun that has no end yet."""
        return bool(self._rest)

    def finish(self) -> None:
        """The server's stream is over. Raises `EngineTruncated` if the answer is not."""
        if not self.ended:
            raise EngineTruncated("The engine's stream stopped without saying that the answer is complete.")

    def _look(self, data: bytes) -> int:
        """Returns how much of it is good."""
        events = data.count(b"\ndata:") + data.startswith(_DATA)
        if _says_done(data):
            self.done = self.ended = True
            events -= 1
        if not self.spoke and _SPEAKS.search(data):
            self.spoke = True
        # Quotes and line ends in texts are escaped: what is found is the server's own, and never the model's.
        if b'"finish_reason":"' in data or b'"finish_reason": "' in data:
            self.ended = True
        if self.ended and (used := _USED.findall(data)):
            self.used = int(used[-1])
        self.tokens += events
        whole = data.count(b"}\n") or data.count(b"}\r\n")
        if b'"error"' in data or whole != events:
            return self._look_closer(data)
        return len(data)

    def _look_closer(self, data: bytes) -> int:
        good = 0
        for line in data.splitlines(keepends=True):
            fault = self._fault_of(line) if line.startswith(_DATA) else None
            if fault is not None:
                if not good and not self._begun:
                    raise fault
                # Whoever has something of the answer gets what is left of it first.
                self.fault = fault
                break
            good += len(line)
        return good

    def _fault_of(self, line: bytes) -> EngineError | None:
        text = line[len(_DATA) :].strip()
        if text == _DONE:
            self.done = self.ended = True
            return None
        fields = fields_of(text)
        if not fields:
            return EngineRejected("The engine sent something that is not JSON.", code="engine_garbage")
        told = fault_in(fields, self._secret)
        return None if told is None else EngineError(f"The engine failed while it answered: {told}")


def _says_done(data: bytes) -> bool:
    tail = data[-32:].strip()
    return tail.endswith(_DONE) and tail.rpartition(b"\n")[2].replace(b" ", b"") == b"data:[DONE]"


def used_tokens(body: bytes) -> int:
    """The tokens of an answer that came in one piece; 0 where the server keeps silent."""
    used = _USED.findall(body)
    return int(used[-1]) if used else 0


def fault_in(fields: Mapping[str, Any], secret: str | None) -> str | None:
    """What a body says went wrong, without the secret in it; `None` if it says nothing of the kind."""
    error = fields.get("error")
    if error is None and fields.get("object") != "error":
        return None
    words: object = cast("dict[str, Any]", error).get("message") if isinstance(error, dict) else error
    told = " ".join(str(words or fields.get("message") or "no reason given").split())
    return (told.replace(secret, "***") if secret else told)[:300]


def fields_of(text: bytes) -> dict[str, Any]:
    """The fields of a JSON object; none for anything else."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
