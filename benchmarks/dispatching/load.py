"""Load on an OpenAI-compatible server from a process of its own: `python -m benchmarks.dispatching.load < plan`.

One loop over `epoll` and plain sockets, so that it costs far less than what it measures. The plan is JSON, and so is
what it prints: the times of every request, and what the process itself took.
"""

import json
import random
import re
import select
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from agon.engines.scripted_text import check_text

_FIRST_SEED = 1_000_000_000
_TEXT = re.compile(rb'"content": ?"[^"]')
_TEXTS = re.compile(rb'"content": ?("(?:[^"\\]|\\.)*")')
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_RETRY = re.compile(rb"\r\nretry-after: *(\d+)", re.IGNORECASE)
_CHUNK = re.compile(rb"\r\n[0-9a-f]+\r\n", re.IGNORECASE)
_LAST_CHUNK = b"\r\n0\r\n\r\n"
_READ_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Stretch:
    """Requests at a steady rate for some seconds."""

    per_s: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """A closed loop of `members` for `seconds`, or, with `stretches`, requests that come when they come."""

    ports: Sequence[int]
    body: dict[str, Any]
    path: str = "/v1/chat/completions"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    members: int = 1
    warm_up_s: float = 0.3
    seconds: float = 1.0
    stretches: Sequence[Stretch] = ()
    is_even: bool = False
    """Requests of a stretch come evenly instead of by chance."""
    checked: int = 50
    """So many answers of the first are checked word by word."""
    patience_s: float = 20.0
    """How long after the last request was sent the rest is waited for."""
    seed: int = 0

    def dump(self) -> bytes:
        return json.dumps(asdict(self)).encode()


@dataclass(slots=True)
class Ask:
    """One request; times are seconds since the load began, -1 where it never came to that."""

    due: float
    sent: float = -1.0
    first: float = -1.0
    end: float = -1.0
    status: int = 0
    reads: int = 0
    gap: float = 0.0
    """The longest silence between the first text and the end."""
    retry_after_s: float = -1.0


class Line:
    """One connection, one request at a time."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.ask = Ask(0.0)
        self._connect()

    def _connect(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)

    def send(self, request: bytes, ask: Ask, *, keep: bool) -> None:
        self.ask, self._keep = ask, keep
        self._head = b""
        self._left: int | None = None
        self._tail = b""
        self.kept = bytearray()
        self._last = 0.0
        self.socket.sendall(request)

    def read(self, now: float) -> bool:
        """Take what has come; true if that was the end of the answer. Raises `ConnectionError` if there was none."""
        data = self.socket.recv(_READ_BYTES)
        if not data:
            raise ConnectionError("closed in the middle of an answer")
        ask = self.ask
        ask.reads += 1
        if not ask.status:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return False
            data = self._begin(end)
        if self._keep:
            self.kept += data
        if ask.first < 0:
            if _TEXT.search(self._tail + data):
                ask.first = now
        elif now - self._last > ask.gap:
            ask.gap = now - self._last
        self._last = now
        return self._is_over(data)

    def _begin(self, end: int) -> bytes:
        head, data = self._head[: end + 2], self._head[end + 4 :]
        self.ask.status = int(head[9:12])
        length, wait = _LENGTH.search(head), _RETRY.search(head)
        self._left = int(length[1]) if length else None
        if wait:
            self.ask.retry_after_s = float(wait[1])
        # A body in chunks begins with a size and no line before it; that one is given to it.
        return data if length else b"\r\n" + data

    def _is_over(self, data: bytes) -> bool:
        if self._left is not None:
            self._left -= len(data)
            return self._left <= 0
        ending = (self._tail + data)[-max(len(_LAST_CHUNK), 16) :]
        self._tail = ending
        return ending.endswith(_LAST_CHUNK)

    def text(self) -> str:
        """All text of the answer that was kept."""
        body = bytes(self.kept)
        whole = _CHUNK.sub(b"", body) if self._left is None else body
        return "".join(json.loads(part) for part in _TEXTS.findall(whole))


class Load:
    """Runs a plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._asks: list[Ask] = []
        self._epoll = select.epoll()
        self._busy: dict[int, Line] = {}
        self._idle: deque[Line] = deque()
        self._made = 0
        self.faults: list[str] = []
        body = json.dumps(plan.body | {"seed": _FIRST_SEED}).encode()
        head = [f"POST {plan.path} HTTP/1.1", "Host: benchmark", "Content-Type: application/json"]
        head += [f"Content-Length: {len(body)}", *(f"{name}: {value}" for name, value in plan.headers.items())]
        whole = "\r\n".join([*head, "", ""]).encode() + body
        self._before, self._after = whole.split(str(_FIRST_SEED).encode())

    def run(self) -> list[Ask]:
        for _ in range(self._plan.members):
            self._idle.append(self._line())
        self._began = time.perf_counter()
        if self._plan.stretches:
            self._run_open()
        else:
            self._run_closed()
        return self._asks

    def _line(self) -> Line:
        line = Line(self._plan.ports[self._made % len(self._plan.ports)])
        self._made += 1
        return line

    def _now(self) -> float:
        return time.perf_counter() - self._began

    def _run_closed(self) -> None:
        until = self._plan.warm_up_s + self._plan.seconds
        while self._idle:
            self._ask(self._now())
        while self._busy and self._now() < until + self._plan.patience_s:
            self._serve(0.1)
            while self._idle and self._now() < until:
                self._ask(self._now())

    def _run_open(self) -> None:
        dues = deque(_dues(self._plan))
        last = dues[-1]
        while dues or (self._busy and self._now() < last + self._plan.patience_s):
            while dues and dues[0] <= self._now():
                self._ask(dues.popleft())
            self._serve(min(0.1, max(0.0, dues[0] - self._now())) if dues else 0.1)

    def _ask(self, due: float) -> None:
        line = self._idle.popleft() if self._idle else self._line()
        ask = Ask(due, sent=self._now())
        number = len(self._asks)
        self._asks.append(ask)
        request = b"%s%d%s" % (self._before, _FIRST_SEED + self._plan.seed * 1_000_000 + number, self._after)
        self._busy[line.socket.fileno()] = line
        self._epoll.register(line.socket, select.EPOLLIN)
        try:
            line.send(request, ask, keep=number < self._plan.checked)
        except OSError as error:
            self._drop(line, str(error))

    def _serve(self, wait_s: float) -> None:
        events = self._epoll.poll(wait_s)
        now = self._now()
        for number, _ in events:
            line = self._busy[number]
            try:
                is_over = line.read(now)
            except OSError as error:
                self._drop(line, str(error))
                continue
            if is_over:
                self._finish(line, now)

    def _finish(self, line: Line, now: float) -> None:
        line.ask.end = now
        self._leave(line)
        self._idle.append(line)
        if line.ask.status == 200 and line.kept:
            try:
                checked = check_text(line.text())
            except ValueError as error:
                self.faults.append(str(error))
            else:
                if not checked.complete:
                    self.faults.append(f"an answer ends after {checked.tokens} tokens")

    def _drop(self, line: Line, reason: str) -> None:
        """The server closed a connection: its request failed, and another connection takes the place."""
        self.faults.append(reason)
        self._leave(line)
        line.socket.close()
        self._idle.append(self._line())

    def _leave(self, line: Line) -> None:
        self._epoll.unregister(line.socket)
        del self._busy[line.socket.fileno()]


def _dues(plan: Plan) -> Iterator[float]:
    chance = random.Random(plan.seed)
    begin = 0.0
    for stretch in plan.stretches:
        if plan.is_even:
            yield from (begin + number / stretch.per_s for number in range(round(stretch.per_s * stretch.seconds)))
        else:
            at = begin + chance.expovariate(stretch.per_s)
            while at < begin + stretch.seconds:
                yield at
                at += chance.expovariate(stretch.per_s)
        begin += stretch.seconds


@dataclass(frozen=True, slots=True)
class Found:
    """What a load saw."""

    asks: Sequence[Ask]
    faults: Sequence[str]
    used_s: float
    """Processor time of the load itself."""

    def done(self) -> list[Ask]:
        return [ask for ask in self.asks if ask.status == 200 and ask.end >= 0]

    def check(self, name: str) -> None:
        """Raises `RuntimeError` unless everything was answered, and what was looked at was whole."""
        if self.faults or len(self.done()) < len(self.asks):
            statuses = Counter(ask.status if ask.end >= 0 else -1 for ask in self.asks)
            raise RuntimeError(f"{name} did not answer everything: {dict(statuses)}, {self.faults[:3]}")


def parse(output: bytes) -> Found:
    """What the process printed."""
    read = json.loads(output)
    names = [each.name for each in fields(Ask)]
    asks = [Ask(**dict(zip(names, row, strict=True))) for row in zip(*read["asks"], strict=True)]
    return Found(asks, read["faults"], read["used_s"])


def main() -> None:
    read = json.load(sys.stdin)
    plan = Plan(**read | {"stretches": [Stretch(**stretch) for stretch in read["stretches"]]})
    load = Load(plan)
    used = time.process_time()
    asks = load.run()
    columns = [[getattr(ask, each.name) for ask in asks] for each in fields(Ask)]
    json.dump({"asks": columns, "faults": load.faults[:20], "used_s": time.process_time() - used}, sys.stdout)


if __name__ == "__main__":
    main()
