"""How llama.cpp runs a model here, and what memory that takes."""

from dataclasses import dataclass
from pathlib import Path

from agon.core.errors import EngineRejected
from agon.engines.gguf_header import GgufHeader, read_header
from agon.engines.memory import needed_bytes

SYSTEM_PROMPT = "You are a helpful assistant. Answer clearly and to the point."
"""Given where a conversation has none: some templates would otherwise introduce the model by its name."""

_SMALL_FILE_BYTES = 160 << 20
"""Of a model that reads 16 tokens of a prompt in about 0.12 s on one core."""
_SMALL_BATCH = 16
_MIN_BATCH = 8
_MAX_BATCH = 512
_NGRAM_TOKENS = 7
_DRAFT_TOKENS = 4
_MAX_SPECULATED = 64
"""Over all slots: every one of their proposals has to fit into one batch."""


@dataclass(frozen=True, slots=True)
class LlamaCppOptions:
    """Chosen by measurement so that two small models fight three battles at once on two cores."""

    n_threads: int = 1
    """One an engine on a small machine: more wait for each other whenever the cores have other work."""
    n_parallel: int = 2
    """Answers at a time."""
    n_ctx_per_slot: int = 2048
    max_seconds: float = 12.0
    """Time budget of one answer, from when it gets a slot; what is there by then is the answer."""
    min_speaking_seconds: float = 3.0
    """What an answer gets after its first token though its budget is spent: three words are nothing to vote on."""
    first_token_seconds: float = 30.0
    max_wait_seconds: float = 30.0
    """How long a slot is waited for before the engine says that it is busy."""
    cache_mib: int = 256
    """Memory for conversations that lost their slots: their next turn reads only what is new. 0 keeps none."""
    system_prompt: str = SYSTEM_PROMPT
    ngram: bool = False
    """Guess ahead from what was said before."""
    draft: Path | None = None
    """A smaller model of the same family that guesses ahead."""

    @classmethod
    def for_machine(cls, *, cores: int, engines: int) -> "LlamaCppOptions":
        """Share a machine's cores out over the engines that run on it at the same time."""
        threads = min(8, max(1, cores // max(1, engines)))
        return cls(n_threads=threads, max_seconds=cls().max_seconds if cores <= 4 else 30.0)

    @property
    def n_ctx(self) -> int:
        """Of all slots together."""
        return self.n_ctx_per_slot * self.n_parallel

    @property
    def speculated(self) -> int:
        """How many tokens are guessed ahead in one slot at most."""
        wanted = _DRAFT_TOKENS if self.draft else _NGRAM_TOKENS if self.ngram else 0
        return min(wanted, max(1, _MAX_SPECULATED // self.n_parallel - 1))


@dataclass(frozen=True, slots=True)
class Fit:
    """A model that can be loaded, as far as its header tells."""

    needed_bytes: int
    n_batch: int
    """Tokens between two looks at whether an answer is still wanted."""
    n_ubatch: int
    """Tokens computed at once. Guessing ahead does not change it, for it decides how numbers are rounded."""


def fit(path: Path, options: LlamaCppOptions) -> Fit:
    """Read what a model takes, before anything of it is loaded. Raises `EngineRejected` for what is no chat model."""
    header = read_header(path)
    if not header.chat_template:
        raise EngineRejected(
            f"{path} carries no chat template: it is no model to talk to; choose an instruct model.",
            code="engine_no_chat_template",
        )
    n_ubatch = reading_tokens(header, options)
    n_batch = max(n_ubatch, options.n_parallel * (options.speculated + 1))
    needed = needed_bytes(header, ctx=options.n_ctx, batch=n_batch) + (options.cache_mib << 20)
    if options.draft is not None:
        needed += needed_bytes(read_header(options.draft), ctx=options.n_ctx, batch=n_batch)
    return Fit(needed, n_batch, n_ubatch)


def reading_tokens(header: GgufHeader, options: LlamaCppOptions) -> int:
    """Tokens of a prompt read at once, so that it can be left at any time: what takes a core 0.2 s at most.

    Measured on one core: 8 at once read as fast as 32 for 0.1 B parameters, a fifth slower for 0.5 B.
    """
    tokens = _SMALL_BATCH * options.n_threads * _SMALL_FILE_BYTES // max(1, header.file_bytes)
    return max(_MIN_BATCH, min(_MAX_BATCH, 1 << max(0, tokens.bit_length() - 1)))
