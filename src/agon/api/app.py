"""The gateway's ASGI application."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from agon.api import errors
from agon.api.examples import add_examples
from agon.api.middleware import Application, Guard, Measure
from agon.api.openai import OpenAi
from agon.api.openai_document import add_openai
from agon.api.round_document import add_rounds
from agon.api.routes import admin, battles, boards, chat, engines, health, rounds, scorers, sockets
from agon.api.submit import Submit
from agon.bootstrap.gateway import gateway
from agon.config import Settings
from agon.telemetry import Metrics

PAGE = Path(__file__).parent.parent / "page"
_NO_PAGE = "<!doctype html><title>Agon</title><p>The page is not built. In a checkout: <code>make page</code>."


class ArenaApp(FastAPI):
    """The framework, with what needs none of it in front."""

    front: Application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope["app"] = self
        await self.front(scope, receive, send)

    async def framework(self, scope: Any, receive: Any, send: Any) -> None:
        await super().__call__(scope, receive, send)


def create_app(settings: Settings, metrics: Metrics | None = None) -> FastAPI:
    """The application; it opens its stores when it starts."""
    measured = metrics or Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with gateway(settings, measured) as opened:
            app.state.gateway = opened
            yield

    app = ArenaApp(
        title=settings.name,
        version="1",
        description="Battles between language models, votes, and the boards that follow from them.",
        lifespan=lifespan,
        # Any route may refuse a request before it looks at it; what a route says of its own is listed with it.
        responses={"4XX": {"model": errors.ErrorBody, "description": "Refused"}},
        docs_url=None,
        redoc_url=None,
    )
    errors.install(app)
    for part in (battles, boards, rounds, scorers, engines, chat, sockets, admin, health):
        app.include_router(part.router)
    _serve_page(app)
    describe = app.openapi
    app.openapi = lambda: add_examples(add_rounds(add_openai(describe())))
    limits = settings.limits
    app.add_middleware(Guard, body_bytes=limits.body_bytes, bodies={rounds.ROUNDS: limits.bank_bytes})
    app.add_middleware(Measure, metrics=measured)
    behind = Submit(app.framework, settings=settings, metrics=measured)
    app.front = OpenAi(behind, settings=settings, metrics=measured)
    return app


def _serve_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def index() -> Response:  # pyright: ignore[reportUnusedFunction]
        page = PAGE / "index.html"
        if not page.is_file():
            return HTMLResponse(_NO_PAGE, 503)
        return FileResponse(page, headers={"Cache-Control": "no-cache"})

    # A mount without its folder would answer every unknown address with a fault.
    if PAGE.is_dir():
        app.mount("/", StaticFiles(directory=PAGE), name="page")
