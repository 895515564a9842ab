"""The one place that touches `xllamacpp`, whose interface moves from month to month and has no types."""

import importlib
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from agon.core.errors import EngineError, EngineRejected
from agon.engines.llamacpp_options import Fit, LlamaCppOptions

_NGRAM_MATCH = 8
"""Tokens that must have been seen in a row before what followed them is proposed."""
_NGRAM_MIN = 4
"""Fewer proposed tokens than these are not worth a try."""


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


def load(path: Path, options: LlamaCppOptions, found: Fit) -> LlamaCppServer:
    """Load a model; its context is shared out over the slots. Raises `EngineRejected`."""
    xllamacpp = cast("Any", importlib.import_module("xllamacpp"))
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_parallel = options.n_parallel
    params.n_ctx = options.n_ctx
    params.n_batch = found.n_batch
    params.n_ubatch = found.n_ubatch
    params.n_gpu_layers = 0
    # The default takes 8 GiB. What loses its slot is kept here, and a slot is chosen by what it has of the prompt.
    params.cache_ram_mib = options.cache_mib
    params.fit_params = False  # else sizes given here may be changed behind our back
    params.verbosity = -1
    # A port on the loopback interface opens in any case: nobody is to have its key.
    params.api_keys = [secrets.token_urlsafe(32)]
    params.n_threads_http = 1
    params.ui = False
    params.endpoint_slots = False
    _limit_threads(params, options)
    if options.draft is not None or options.ngram:
        _speculate(xllamacpp, params.speculative, options)
    try:
        return LlamaCppServer(cast("_Native", xllamacpp.Server(params)))
    except Exception as error:  # noqa: BLE001  a bare RuntimeError without a cause is all there is
        raise EngineRejected(
            f"{path} cannot be loaded ({error}): it may be cut off, or of a kind this engine does not know.",
            code="engine_bad_weights",
        ) from None


def _limit_threads(params: Any, options: LlamaCppOptions) -> None:
    draft = params.speculative.draft
    for processor in (params.cpuparams, params.cpuparams_batch, draft.cpuparams, draft.cpuparams_batch):
        processor.n_threads = options.n_threads
        # No busy waiting: several engines and the rest of the arena share the cores.
        processor.poll = 0


def _speculate(xllamacpp: Any, speculative: Any, options: LlamaCppOptions) -> None:
    kinds = xllamacpp.common_speculative_type
    if options.draft is None:
        speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_NGRAM_MOD]
        speculative.ngram_mod.n_match = _NGRAM_MATCH
        speculative.ngram_mod.n_min = min(_NGRAM_MIN, options.speculated)
        speculative.ngram_mod.n_max = options.speculated
    else:
        speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]
        speculative.draft.mparams.path = str(options.draft)
        speculative.draft.n_gpu_layers = 0
        speculative.draft.n_max = options.speculated
