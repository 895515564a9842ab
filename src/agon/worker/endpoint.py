"""Where a worker says how it is doing."""

from collections.abc import Generator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from threading import Event, Thread

from prometheus_client import CollectorRegistry, MetricsHandler

READY_PATH = "/ready"


@contextmanager
def serve_state(host: str, port: int, registry: CollectorRegistry, ready: Event) -> Generator[int]:
    """Serve metrics at any path but one, which says whether the worker is ready; yields the port."""

    class Handler(MetricsHandler):
        def do_GET(self) -> None:  # noqa: N802 - the server's name for it
            if self.path.partition("?")[0] != READY_PATH:
                super().do_GET()
                return
            body = b"ready\n" if ready.is_set() else b"not ready\n"
            self.send_response(200 if ready.is_set() else 503)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    Handler.registry = registry
    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, name="agon-state", daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
