"""An engine in this process: llama.cpp on the processor, by way of `xllamacpp`."""

import asyncio
import math
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from pathlib import Path
from typing import TypeVar

from agon.core.errors import EngineError, EngineRejected, EngineTimeout, EngineUnreachable
from agon.core.generation import BUSY_CODE, Finish, FinishReason, GenerationRequest, Message, Piece, Sampling
from agon.engines.answer import AnswerReader, as_object, count, error_detail
from agon.engines.chat_body import chat_body
from agon.engines.llamacpp_fields import known_fields
from agon.engines.llamacpp_options import LlamaCppOptions, fit
from agon.engines.llamacpp_server import LlamaCppServer, load
from agon.engines.memory import available_bytes, give_back_memory

_WARM_UP = GenerationRequest((Message("user", "Say hello."),), Sampling(max_tokens=8), seed=0)
_T = TypeVar("_T")
_loading = threading.Lock()
"""One load at a time: each checks the memory that the one before has left, and they would only slow each other."""


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
        with _loading:
            found, available = fit(self._path, self._options), available_bytes()
            if found.needed_bytes > available:
                raise EngineRejected(
                    f"{self._name} needs about {found.needed_bytes >> 20} MiB of memory and {available >> 20} MiB are "
                    "free: close other programs, give this machine more memory, or run fewer or smaller models.",
                    code="not_enough_memory",
                )
            return load(self._path, self._options, found)

    def _unload(self, held: list[LlamaCppServer]) -> None:
        self._threads.shutdown(wait=True)
        held.clear()
        give_back_memory()

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[Piece | Finish, None]:
        run = await self._start(request)
        reader = AnswerReader(begun=bool(request.said))
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
            yield Finish(FinishReason.LENGTH, run.prompt_tokens, run.pieces, run.cached_tokens)
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
        most_s = math.inf if request.patient else self._options.max_seconds
        run = _Run(self._options, ends=ends, most_s=most_s, on_end=self._end)
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
        # A chunk a batch of the prompt, which is the only time to cancel while it is being read.
        return known_fields(chat_body(request, messages)) | {"return_progress": True}


class _Run:
    """One answer: made in a thread of its own, read in the event loop that asked for it."""

    def __init__(
        self, options: LlamaCppOptions, *, ends: float, most_s: float, on_end: "Callable[[_Run], None]"
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[Mapping[str, object] | EngineError | None] = asyncio.Queue()
        self._options = options
        self._start = time.monotonic()
        self._ends = ends
        self._most_s = most_s
        self._deadline = min(ends, self._start + options.first_token_seconds)
        self._wanted = True
        self._on_end = on_end
        self.pieces = 0
        self.prompt_tokens: int | None = None
        self.cached_tokens: int | None = None
        self.expired = False

    def stop(self) -> None:
        """Make the engine drop the answer at its next token."""
        self._wanted = False

    def note_piece(self) -> None:
        """Count a piece of text. The first one sets how long the answer may go on."""
        self.pieces += 1
        if self.pieces == 1:
            least = time.monotonic() + self._options.min_speaking_seconds
            self._deadline = min(self._ends, max(self._start + self._most_s, least))

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
        if item is not None and (progress := as_object(item.get("prompt_progress"))):
            self.prompt_tokens = count(progress, "total")
            self.cached_tokens = count(progress, "cache")
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
