"""Opening a session of ONNX Runtime on the provider that was asked for, and on no other."""

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from agon.core.errors import AgonError, Unavailable

# The runtime's own types are known to nobody; what is used of it stands in this file.
_runtime: Any = importlib.import_module("onnxruntime")
_native: Any = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")

_QUIET: Final = 3
"""Errors only: what is worth a word is raised."""

FOREIGN: Final[tuple[type[Exception], ...]] = (
    *(
        each
        for each in cast("dict[str, Any]", vars(_native)).values()
        if isinstance(each, type) and issubclass(each, Exception)
    ),
    MemoryError,
)
"""Everything that the runtime raises."""


class Provider(StrEnum):
    CPU = "CPUExecutionProvider"
    CUDA = "CUDAExecutionProvider"
    TENSORRT = "TensorrtExecutionProvider"


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a session runs."""

    provider: Provider = Provider.CPU
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the provider."""
    least_share: float = 0.0
    """Share of the nodes that must be on the provider; what may stay elsewhere is a few nodes on shapes."""


class Session:
    """An open model. Thread-safe. Raises what `FOREIGN` names."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def run(self, feed: Mapping[str, npt.NDArray[Any]], outputs: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        """Return the outputs of these names."""
        found: list[npt.NDArray[np.float32]] = self._native.run(list(outputs), dict(feed))
        return found

    @property
    def providers(self) -> Sequence[str]:
        """What it runs on, the first one first."""
        found: list[str] = self._native.get_providers()
        return found

    @property
    def assigned(self) -> Mapping[str, int] | None:
        """How many nodes are on each provider, or None where this runtime does not tell."""
        ask = getattr(self._native, "get_provider_graph_assignment_info", None)
        if ask is None:
            return None
        counts: dict[str, int] = {}
        for part in cast("Sequence[Any]", ask()):
            counts[part.ep_name] = counts.get(part.ep_name, 0) + len(part.get_nodes())
        return counts


def available() -> Sequence[str]:
    """The providers that this runtime was built with; that one is there does not mean that it starts."""
    found: list[str] = _runtime.get_available_providers()
    return found


def open_session(model: Path | bytes, placement: Placement) -> Session:
    """Open a model. Raises `Unavailable`: `provider_missing`, `provider_fell_back`, or `encoder_unusable`."""
    provider = placement.provider
    if provider not in available():
        raise Unavailable(f"This ONNX Runtime has no {provider}.", code="provider_missing")
    options = _runtime.SessionOptions()
    options.log_severity_level = _QUIET
    options.intra_op_num_threads = placement.threads
    options.inter_op_num_threads = 1
    # Threads that spin while they wait take the cores of everybody else on the machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    source = model if isinstance(model, bytes) else str(model)
    try:
        native = _runtime.InferenceSession(source, options, providers=[(provider.value, dict(placement.options))])
    except (*FOREIGN, ValueError) as error:
        raise translated(error) from None
    session = Session(native)
    check_provider(session.providers, session.assigned, placement)
    return session


def check_provider(providers: Sequence[str], assigned: Mapping[str, int] | None, placement: Placement) -> None:
    """Raise `Unavailable` (`provider_fell_back`) unless a session runs where it was meant to.

    The runtime drops a provider that does not start and goes on without it, and leaves nodes that a provider does not
    take to the next; so both are looked at.
    """
    wanted = placement.provider.value
    if not providers or providers[0] != wanted:
        raise _fell_back(f"{wanted} did not start; the session runs on {', '.join(providers) or 'nothing'} instead.")
    if assigned is None:
        return
    there, all_nodes = assigned.get(wanted, 0), sum(assigned.values())
    if not there or there < placement.least_share * all_nodes:
        raise _fell_back(f"Only {there} of {all_nodes} nodes are on {wanted}.")


def translated(error: Exception) -> AgonError:
    """The runtime's errors as ours, for the operator."""
    return Unavailable(f"The encoder's engine failed: {' '.join(str(error).split())}", code="encoder_unusable")


def _fell_back(message: str) -> Unavailable:
    return Unavailable(message, code="provider_fell_back")
