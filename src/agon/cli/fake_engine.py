"""`agon fake-engine`: a scriptable engine server in the foreground."""

import argparse
import asyncio
import json
import signal

_SCRIPT_HELP = """
The server speaks OpenAI's /v1/chat/completions (streamed or not, stop, logprobs, usage with cached_tokens), lists
/v1/models, tells its load under vLLM's names on /metrics, and answers GET /control with every model's script and
counters. POST /control changes scripts while it runs: {"model": "scripted-a", "rate_tokens_per_s": 30}; without a
model, all of them. The words of a script and their defaults:

"""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Fills the list of words in only when somebody asks for help."""

    def format_help(self) -> str:
        from agon.engines.scripted_models import describe

        return super().format_help() + _SCRIPT_HELP + describe() + "\n"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = _Help
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: any free one)")
    parser.add_argument("--models", default="scripted-a,scripted-b", help="names of the models, with commas between")
    parser.add_argument("--rate", type=float, default=0.0, help="tokens a second and answer (default: no limit)")
    parser.add_argument("--tokens", type=int, default=64, help="length of an answer in tokens (default: 64)")
    parser.add_argument("--script", default="{}", metavar="JSON", help="more words of the script, as /control takes")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to say where it listens")


def run(args: argparse.Namespace) -> int:
    asyncio.run(_serve(args))
    return 0


async def _serve(args: argparse.Namespace) -> None:
    from agon.core.errors import InvalidInput
    from agon.engines.scripted import ScriptedServer
    from agon.engines.scripted_models import ScriptedModel

    models = [name.strip() for name in str(args.models).split(",") if name.strip()]
    if not models:
        raise InvalidInput("Name at least one model: --models a,b", field="models")
    words = {"rate_tokens_per_s": args.rate, "tokens": args.tokens, **_script(args.script)}
    script = ScriptedModel().changed(words)
    server = ScriptedServer(models, script=script, host=args.host, port=args.port)
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    try:
        await server.start()
    except (OSError, OverflowError):
        raise InvalidInput(f"Cannot listen on {args.host}:{args.port}: choose another --port.", field="port") from None
    listening = {"url": server.url, "models": models}
    print(json.dumps(listening) if args.format == "json" else f"listening on {server.url}", flush=True)
    await stopping.wait()
    await server.stop()


def _script(text: str) -> dict[str, object]:
    from agon.core.errors import InvalidInput

    try:
        words: object = json.loads(text)
    except ValueError:
        words = None
    if not isinstance(words, dict):
        raise InvalidInput("A script is a JSON object: --script '{\"max_running\": 8}'", field="script")
    return {str(name): value for name, value in words.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
