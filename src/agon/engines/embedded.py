"""A contestant that runs in this process: its weights are fetched and checked, then loaded, then proved."""

import asyncio
from collections.abc import AsyncGenerator, Callable

from agon.core.errors import EngineUnreachable
from agon.core.generation import Finish, GenerationRequest, Piece
from agon.engines.llamacpp import LlamaCppEngine
from agon.engines.llamacpp_options import LlamaCppOptions
from agon.engines.progress import Progress, in_words
from agon.engines.sources import Weights
from agon.engines.weights import WeightStore


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
