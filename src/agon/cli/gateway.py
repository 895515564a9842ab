"""`agon gateway`: one HTTP gateway."""

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="address to listen on (AGON_HOST)")
    parser.add_argument("--port", type=int, help="port to listen on (AGON_PORT)")


def run(args: argparse.Namespace) -> int:
    import uvicorn

    from agon.api.app import create_app
    from agon.api.coalescing import CoalescingHttp
    from agon.config import load_settings
    from agon.telemetry import set_up_logs

    settings = load_settings()
    set_up_logs(settings.log_level)
    uvicorn.run(
        create_app(settings),
        host=args.host or settings.server.host,
        port=args.port or settings.server.port,
        http=CoalescingHttp,
        # asyncio's loop accepts all who wait at once; uvloop takes one a turn, and a crowd queues for seconds.
        loop="asyncio",
        ws="websockets-sansio",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
        backlog=4096,
        ws_max_size=settings.limits.body_bytes,
    )
    return 0
