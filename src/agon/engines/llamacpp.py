"""An engine in this process: llama.cpp on the processor, by way of `xllamacpp`."""

import asyncio
import math
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from agon.core.errors import EngineError, EngineRejected, EngineTimeout, EngineUnreachable
from agon.core.generation import BUSY_CODE, Finish, FinishReason, GenerationRequest, Message, Piece, Sampling
from agon.engines.answer import AnswerReader, as_object, error_detail
from agon.engines.gguf_header import read_header
from agon.engines.llamacpp_server import LlamaCppServer, load
from agon.engines.memory import available_bytes, give_back_memory, needed_bytes

SYSTEM_PROMPT = "You are a helpful assistant. Answer clearly and to the point."
"""Given where a conversation has none: some templates would otherwise introduce the model by its name."""

_WARM_UP = GenerationRequest((Message("user", "Say hello."),), Sampling(max_tokens=8), seed=0)
_T = TypeVar("_T")
_loading = threading.Lock()
"""One load at a time: each checks the memory that the one before has left, and they would only slow each other."""


@dataclass(frozen=True, slots=True)
class LlamaCppOptions:
    """Chosen by measurement so that two small models fight three battles at once on two cores."""

    n_threads: int = 1
    """One an engine on a small machine: more wait for each other whenever the cores have other work."""
    n_parallel: int = 2
    """Answers at a time."""
    n_ctx_per_slot: int = 2048
    n_batch: int = 32
    """Tokens of a prompt read between two looks at whether the answer is still wanted."""
    max_seconds: float = 12.0
    """Time budget of one answer, from when it gets a slot; what is there by then is the answer."""
    min_speaking_seconds: float = 3.0
    """What an answer gets after its first token though its budget is spent: three words are nothing to vote on."""
    first_token_seconds: float = 30.0
    max_wait_seconds: float = 30.0
    """How long a slot is waited for before the engine says that it is busy."""
    system_prompt: str = SYSTEM_PROMPT

    @classmethod
    def for_machine(cls, *, cores: int, engines: int) -> "LlamaCppOptions":
        """Share a machine's cores out over the engines that run on it at the same time."""
        threads = min(8, max(1, cores // max(1, engines)))
        return cls(n_threads=threads, max_seconds=cls().max_seconds if cores <= 4 else 30.0)


class LlamaCppEngine:
    """The `Engine` port over a GGUF file. Nothing is loaded before `warm_up`."""

    def __init__(self, path: Path, *, name: str, options: LlamaCppOptions | None = None) -> None:
        self._path = path
        self._name = name
        self._options = options or LlamaCppOptions()
        self._server: LlamaCppServer | None = None
        self._closed = False
        self._runs: set[_Run] = set()
        self._changing = asyncio.Lock()
        self._slots = asyncio.Semaphore(self._options.n_parallel)
        self._threads = ThreadPoolExecutor(self._options.n_parallel, thread_name_prefix=f"llamacpp-{name}")

    async def warm_up(self) -> None:
        async with self._changing:
            if self._closed:
                raise _closed(self._name)
            if self._server is None:
                self._server = await asyncio.to_thread(self._load)
        async with aclosing(self.generate(_WARM_UP)) as answer:
            async for _ in answer:
                pass

    async def close(self) -> None:
        self._closed = True
        for run in self._runs:
            run.stop()
        async with self._changing:
            held = [self._server] if self._server else []
            self._server = None
            await asyncio.to_thread(self._unload, held)

    def _load(self) -> LlamaCppServer:
        options = self._options
        with _loading:
            header = read_header(self._path)
            if not header.chat_template:
                raise EngineRejected(
                    f"{self._path} carries no chat template: it is no model to talk to; choose an instruct model.",
                    code="engine_no_chat_template",
                )
            ctx = options.n_ctx_per_slot * options.n_parallel
            needed, available = needed_bytes(header, ctx=ctx, batch=options.n_batch), available_bytes()
            if needed > available:
                raise EngineRejected(
                    f"{self._name} needs about {needed >> 20} MiB of memory and {available >> 20} MiB are free: "
                    "close other programs, give this machine more memory, or run fewer or smaller models.",
                    code="not_enough_memory",
                )
            return load(
                self._path,
                n_threads=options.n_threads,
                n_parallel=options.n_parallel,
                n_ctx=ctx,
                n_batch=options.n_batch,
            )

    def _unload(self, held: list[LlamaCppServer]) -> None:
        self._threads.shutdown(wait=True)
        held.clear()
        give_back_memory()

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[Piece | Finish, None]:
        run = await self._start(request)
        reader = AnswerReader()
        try:
            while (chunk := await run.next_chunk()) is not None:
                piece = reader.take_chunk(_checked(chunk))
                if piece is not None:
                    run.note_piece()
                    yield piece
        finally:
            run.stop()
        if self._closed:
            raise _closed(self._name)
        if run.expired and not reader.ended:
            if not reader.started:
                raise EngineTimeout(f"{self._name} said nothing within {run.age_s():.0f} s.")
            yield Finish(FinishReason.LENGTH, run.prompt_tokens, run.pieces)
        else:
            yield reader.finish()

    async def _start(self, request: GenerationRequest) -> "_Run":
        self._loaded()
        # The asker's own budget is hard, and waiting for a slot spends it.
        ends = math.inf if request.budget_s is None else time.monotonic() + request.budget_s
        try:
            async with asyncio.timeout(min(self._options.max_wait_seconds, ends - time.monotonic())):
                await self._slots.acquire()
        except TimeoutError:
            raise EngineRejected(f"All slots of {self._name} are taken.", code=BUSY_CODE) from None
        run = _Run(self._options, ends=ends, on_end=self._end)
        self._runs.add(run)
        try:
            self._threads.submit(run.work, self._loaded(), self._body(request))
        except EngineError:
            self._end(run)
            raise
        return run

    def _loaded(self) -> LlamaCppServer:
        if self._server is None or self._closed:
            raise _closed(self._name)
        return self._server

    def _end(self, run: "_Run") -> None:
        self._runs.discard(run)
        self._slots.release()

    def _body(self, request: GenerationRequest) -> dict[str, object]:
        messages = request.messages
        if not any(message.role == "system" for message in messages):
            messages = (Message("system", self._options.system_prompt), *messages)
        sampling = request.sampling
        body: dict[str, object] = {
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "max_tokens": sampling.max_tokens,
            "seed": request.seed,
            "stream": True,
            "stream_options": {"include_usage": True},
            # A chunk a batch of the prompt, which is the only time to cancel while it is being read.
            "return_progress": True,
        }
        if sampling.temperature is not None:
            body["temperature"] = sampling.temperature
        if sampling.top_p is not None:
            body["top_p"] = sampling.top_p
        return body


class _Run:
    """One answer: made in a thread of its own, read in the event loop that asked for it."""

    def __init__(self, options: LlamaCppOptions, *, ends: float, on_end: "Callable[[_Run], None]") -> None:
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[Mapping[str, object] | EngineError | None] = asyncio.Queue()
        self._options = options
        self._start = time.monotonic()
        self._ends = ends
        self._deadline = min(ends, self._start + options.first_token_seconds)
        self._wanted = True
        self._on_end = on_end
        self.pieces = 0
        self.prompt_tokens: int | None = None
        self.expired = False

    def stop(self) -> None:
        """Make the engine drop the answer at its next token."""
        self._wanted = False

    def note_piece(self) -> None:
        """Count a piece of text. The first one sets how long the answer may go on."""
        self.pieces += 1
        if self.pieces == 1:
            least = time.monotonic() + self._options.min_speaking_seconds
            self._deadline = min(self._ends, max(self._start + self._options.max_seconds, least))

    def age_s(self) -> float:
        return time.monotonic() - self._start

    async def next_chunk(self) -> Mapping[str, object] | None:
        """Return the next chunk, or None at the end or when time is up. Raises what the engine failed with."""
        try:
            async with asyncio.timeout(max(0.0, self._deadline - time.monotonic())):
                item = await self._chunks.get()
        except TimeoutError:
            self.expired = True
            return None
        if isinstance(item, EngineError):
            raise item
        if item is not None and (total := as_object(item.get("prompt_progress")).get("total")):
            self.prompt_tokens = total if isinstance(total, int) else None
        return item

    def work(self, server: LlamaCppServer, body: Mapping[str, object]) -> None:
        """Make the answer. Runs in the engine's thread."""
        try:
            if self._wanted:
                server.chat(body, self._hand_over)
            self._tell(self._chunks.put_nowait, None)
        except EngineError as error:
            self._tell(self._chunks.put_nowait, error)
        finally:
            self._tell(self._on_end, self)

    def _hand_over(self, chunk: Mapping[str, object]) -> bool:
        """Pass a chunk on; True tells the engine to stop."""
        if time.monotonic() > self._deadline:
            self.expired = True
        if self.expired or not self._wanted:
            return True
        return not self._tell(self._chunks.put_nowait, chunk)

    def _tell(self, what: "Callable[[_T], object]", value: _T) -> bool:
        try:
            self._loop.call_soon_threadsafe(what, value)
        except RuntimeError:  # the loop is closed: nobody listens any more
            return False
        return True


def _checked(chunk: Mapping[str, object]) -> Mapping[str, object]:
    if as_object(chunk.get("error")).get("type") == "exceed_context_size_error":
        raise EngineRejected(f"The conversation is too long: {error_detail(chunk)}", code="engine_context_full")
    return chunk


def _closed(name: str) -> EngineUnreachable:
    return EngineUnreachable(f"{name} is not loaded.", code="engine_closed")
