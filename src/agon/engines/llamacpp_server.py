"""The one place that touches `xllamacpp`, whose interface moves from month to month and has no types."""

import importlib
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from agon.core.errors import EngineError, EngineRejected


class _Native(Protocol):
    def handle_chat_completions(
        self, body: Mapping[str, object], callback: Callable[[Mapping[str, object]], bool], /
    ) -> object: ...


class LlamaCppServer:
    """A loaded model. Dropping the last reference to it unloads it."""

    def __init__(self, native: _Native) -> None:
        self._native = native

    def chat(self, body: Mapping[str, object], on_chunk: Callable[[Mapping[str, object]], bool]) -> None:
        """Answer, calling `on_chunk` in this thread for each chunk until it returns True. Raises `EngineError`.

        Errors of the engine itself come as chunks. What `on_chunk` raises is lost.
        """
        try:
            self._native.handle_chat_completions(body, on_chunk)
        except ValueError as error:
            raise EngineRejected(f"The engine refused the request: {error}") from None
        except Exception as error:  # noqa: BLE001  the binding names no error types of its own
            raise EngineError(f"The engine failed: {error}") from None


def load(path: Path, *, n_threads: int, n_parallel: int, n_ctx: int, n_batch: int) -> LlamaCppServer:
    """Load a model; `n_ctx` is shared out over `n_parallel` slots. Raises `EngineRejected`."""
    xllamacpp = cast("Any", importlib.import_module("xllamacpp"))
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_parallel = n_parallel
    params.n_ctx = n_ctx
    params.n_batch = params.n_ubatch = n_batch
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = n_threads
    # No busy waiting: several engines and the rest of the arena share the cores.
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    params.n_gpu_layers = 0
    params.cache_ram_mib = 0  # the default takes 8 GiB for prompts that were evicted
    params.fit_params = False  # else sizes given here may be changed behind our back
    params.verbosity = -1
    # A port on the loopback interface opens in any case: nobody is to have its key.
    params.api_keys = [secrets.token_urlsafe(32)]
    params.n_threads_http = 1
    params.ui = False
    params.endpoint_slots = False
    try:
        return LlamaCppServer(cast("_Native", xllamacpp.Server(params)))
    except Exception as error:  # noqa: BLE001  a bare RuntimeError without a cause is all there is
        raise EngineRejected(
            f"{path} cannot be loaded ({error}): it may be cut off, or of a kind this engine does not know.",
            code="engine_bad_weights",
        ) from None
