"""The systems under test, each over the same two scripted engines, and the load on them."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import Request, urlopen

from benchmarks.dispatching.load import Found, Plan, parse
from benchmarks.harness.arena import Arena
from benchmarks.harness.installed import installed
from benchmarks.harness.report import ROOT

from agon.supervisor.options import free_port

HOST = "127.0.0.1"
MODEL = "scripted"
MESSAGES = [{"role": "user", "content": "Why does the sea have tides, and why two a day?"}]
_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class System:
    name: str
    ports: Sequence[int]
    processes: Sequence[str] = ()
    """Whose processor time is counted as its own."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def start_engines(arena: Arena, count: int, *words: str) -> list[int]:
    """Scripted engines, each a process; returns their ports."""
    logs = [
        arena.run("fake-engine", "--format", "json", "--models", MODEL, *words, name=f"engine {number}")
        for number in range(count)
    ]
    for log in logs:
        arena.wait_for(lambda log=log: log.exists() and log.read_text().endswith("\n"), "a scripted engine")
    return [int(json.loads(log.read_text().splitlines()[0])["url"].rpartition(":")[2]) for log in logs]


def script(engines: Sequence[int], **words: object) -> None:
    """Tell the engines how to behave."""
    patch = json.dumps({"model": "*", **words}).encode()
    for port in engines:
        with urlopen(Request(f"http://{HOST}:{port}/control", patch, method="POST"), timeout=5):
            pass


def ask(system: System, *, streamed: bool, **plan: object) -> Plan:
    body = {"model": MODEL, "messages": MESSAGES, "stream": streamed}
    return Plan(ports=system.ports, body=body, headers=dict(system.headers), **plan)  # type: ignore[arg-type]


def run(plan: Plan) -> Found:
    """Run a load in a process of its own. Raises if an answer that was checked was not whole."""
    words = [sys.executable, "-m", "benchmarks.dispatching.load"]
    ran = subprocess.run(words, input=plan.dump(), capture_output=True, cwd=ROOT, timeout=_LIMIT_S, check=False)
    if ran.returncode:
        raise RuntimeError(f"the load failed: {ran.stderr.decode()[-2000:]}")
    return parse(ran.stdout)


def agon(arena: Arena, engines: Sequence[int], *, places: int = 1024) -> System:
    """One gateway; the runner beside it says which servers are up, and the stores count the turns."""
    arena.configure(configuration(engines, places=places) + _LET_IN)
    for process in ("runner", "gateway"):
        arena.run(process)
    return System("Agon", [arena.port], ["gateway", "runner", "valkey", "postgres"])


_LET_IN = "[limits]\nqueue_s = 0\narena_share = 0\nclient_tokens_per_minute = 0\n"
"""None of the others refuses anybody either."""


def configuration(engines: Sequence[int], *, places: int = 1024) -> str:
    urls = ", ".join(f'"http://{HOST}:{port}/v1"' for port in engines)
    contestant = f'[[contestants]]\nname = "{MODEL}"\nurls = [{urls}]\nmax_concurrent = {places}\n'
    return f"default_models = false\n{contestant}"


# The peers. One process each, as Agon's gateway is one; nothing logged for a request, nothing kept, nothing retried.


def vllm_router(arena: Arena, engines: Sequence[int], *, policy: str = "round_robin") -> System:
    return _router(arena, "vllm-router", ["--log-level", "warning"], engines, policy)


def sglang_router(arena: Arena, engines: Sequence[int]) -> System:
    words = ["launch", "--log-level", "warn", "--worker-startup-check-interval", "1"]
    return _router(arena, "sglang-router", words, engines, "round_robin")


def _router(arena: Arena, program: str, words: Sequence[str], engines: Sequence[int], policy: str) -> System:
    name = program if policy == "round_robin" else f"{program}'s {policy.replace('_', ' ')}"
    port = free_port(HOST)
    urls = [f"http://{HOST}:{engine}" for engine in engines]
    command = [str(installed("dispatch") / program), *words, "--host", HOST, "--port", str(port)]
    command += ["--worker-urls", *urls, "--policy", policy, "--prometheus-port", str(free_port(HOST))]
    command += ["--disable-retries", "--max-concurrent-requests", "4096"]
    arena.launch(name, command, arena.environment)
    return System(name, [port], [name])


def litellm(arena: Arena, engines: Sequence[int]) -> System:
    port = free_port(HOST)
    settings, logs = arena.folder / "litellm.json", arena.folder / "litellm-logs.json"
    settings.write_text(json.dumps(_litellm_settings(engines)), "utf-8")
    logs.write_text(json.dumps(_QUIET), "utf-8")
    command = [str(installed("dispatch") / "litellm"), "--host", HOST, "--port", str(port)]
    command += ["--config", str(settings), "--log_config", str(logs), "--telemetry", "False", "--num_workers", "1"]
    calm = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION"}
    arena.launch("litellm", command, arena.environment | calm)
    return System("LiteLLM", [port], ["litellm"])


_QUIET = {
    "version": 1,
    "disable_existing_loggers": False,
    "loggers": {"uvicorn": {"level": "ERROR"}, "uvicorn.access": {"level": "CRITICAL"}},
}


def _litellm_settings(engines: Sequence[int]) -> dict[str, object]:
    servers = [
        {
            "model_name": MODEL,
            "litellm_params": {"model": f"openai/{MODEL}", "api_base": f"http://{HOST}:{port}/v1", "api_key": "none"},
        }
        for port in engines
    ]
    return {
        "model_list": servers,
        "router_settings": {"routing_strategy": "simple-shuffle", "num_retries": 0, "disable_cooldowns": True},
        "litellm_settings": {"num_retries": 0, "callbacks": [], "turn_off_message_logging": True},
        "general_settings": {"disable_spend_logs": True, "disable_error_logs": True},
    }


PEERS = (vllm_router, sglang_router, litellm)


def await_system(arena: Arena, system: System) -> None:
    """Wait until a short answer comes through."""
    log = arena.folder / "logs" / f"{system.processes[0]}.log"
    arena.wait_for(lambda: _answers(system), f"{system.name}: {_end_of(log)}")


def _answers(system: System) -> bool:
    try:
        found = run(ask(system, streamed=False, stretches=[{"per_s": 2.0, "seconds": 0.9}], is_even=True))
    except RuntimeError:
        return False
    return bool(found.done())


def _end_of(log: Path) -> str:
    return log.read_text("utf-8", "replace")[-500:] if log.exists() else ""
