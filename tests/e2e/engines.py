"""Servers to play with: the scripted engine as a process, and one that says back what it is told."""

import json
import signal
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx

from agon.embedded.process import Launch, end, spawn, wait_until
from agon.supervisor.service import command

SCRIPTED = ("heron", "otter")
CALM: dict[str, Any] = {"rate_tokens_per_s": 0, "first_token_delay_s": 0, "tokens": 40, "fail": None}


class ScriptedProcess:
    """`agon fake-engine`; what it is told holds for the answers that start afterwards."""

    def __init__(self, folder: Path) -> None:
        log = folder / "fake-engine.log"
        words = command("fake-engine", "--format", "json", "--models", ",".join(SCRIPTED))
        self._child = spawn(Launch(command=words, log=log, folder=folder))
        wait_until(lambda: log.read_bytes().endswith(b"\n") or self._child.poll() is not None, 30)
        self.url: str = json.loads(log.read_text())["url"]
        self.say()

    def say(self, model: str = "*", **script: object) -> None:
        """Behave calmly, but for what is given."""
        httpx.post(f"{self.url}/control", json={"model": model, **CALM, **script}).raise_for_status()

    def stop(self) -> None:
        end(self._child, [(signal.SIGTERM, 5.0)])


class Parrot:
    """An OpenAI-compatible server that says the last message back, a few characters at a time."""

    def __init__(self) -> None:
        self.pause_s = 0.0
        self.step = 7
        parrot = self

        class Handler(_Handler):
            owner = parrot

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    owner: Parrot

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text: str = body["messages"][-1]["content"]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for start in range(0, len(text), self.owner.step):
            self._send({"delta": {"content": text[start : start + self.owner.step]}, "finish_reason": None})
            time.sleep(self.owner.pause_s)
        self._send({"delta": {}, "finish_reason": "stop"})
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, choice: dict[str, object]) -> None:
        self.wfile.write(f"data: {json.dumps({'choices': [{'index': 0, **choice}]})}\n\n".encode())

    def log_message(self, *_: object, **__: object) -> None:
        """Say nothing: the output is the tests'."""
