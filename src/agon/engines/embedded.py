"""A contestant that runs in this process: its weights are fetched and checked, then loaded, then proved."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable

from agon.core.errors import AgonError, EngineUnreachable, InvalidInput
from agon.core.generation import Finish, GenerationRequest, Piece
from agon.engines.catalogue import BUILT_INS, built_in
from agon.engines.llamacpp import LlamaCppEngine, LlamaCppOptions
from agon.engines.progress import Progress, Stage
from agon.engines.sources import Weights, parse_source
from agon.engines.weights import WeightStore


def weights_of(name: str, words: str, sha256: str | None) -> Weights:
    """The weights that `words` speak of: a built-in model by name, or a source. Raises `InvalidInput`."""
    if any(model.name == words for model in BUILT_INS):
        return built_in(words).weights
    file_name = re.sub(r"[^A-Za-z0-9._-]+", "-", name)
    try:
        source = parse_source(words)
    except InvalidInput as error:
        raise InvalidInput(error.message, field="weights") from None
    return Weights(file_name, source, sha256=sha256)


class EmbeddedEngine:
    """The `Engine` port over weights that may not be here yet. `say` takes progress in words for the operator."""

    def __init__(
        self, name: str, weights: Weights, store: WeightStore, options: LlamaCppOptions, say: Callable[[str], None]
    ) -> None:
        self._name = name
        self._weights = weights
        self._store = store
        self._options = options
        self._say = say
        self._engine: LlamaCppEngine | None = None

    async def warm_up(self) -> None:
        if self._engine is None:
            path = await asyncio.to_thread(self._store.ensure, self._weights, self._report)
            self._engine = LlamaCppEngine(path, name=self._name, options=self._options)
        self._say("loading")
        await self._engine.warm_up()

    def generate(self, request: GenerationRequest) -> AsyncGenerator[Piece | Finish]:
        if self._engine is None:
            raise EngineUnreachable(f"{self._name} is not loaded.", code="engine_closed")
        return self._engine.generate(request)

    async def close(self) -> None:
        if self._engine is not None:
            await self._engine.close()

    def _report(self, progress: Progress) -> None:
        self._say(in_words(progress))


def in_words(progress: Progress) -> str:
    """A step of a fetch, for a person."""
    if progress.stage is Stage.DOWNLOADING and progress.total_bytes:
        share = min(100, 100 * progress.done_bytes // progress.total_bytes)
        return f"downloading {share} % of {progress.total_bytes / 1e6:.0f} MB"
    return "weights are here" if progress.stage is Stage.READY else progress.stage.value


def ensure_or_explain(store: WeightStore, weights: Weights, say: Callable[[str], None]) -> AgonError | None:
    """Fetch weights unless they are here; returns why they cannot be had, or `None` when they are here. Blocks."""
    try:
        store.ensure(weights, lambda progress: say(in_words(progress)))
    except AgonError as error:
        return error
    return None
