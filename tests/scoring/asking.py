"""Contestants that are asked at once, without dispatch."""

from agon.core.generation import Engine, Finish, GenerationRequest, Piece
from agon.core.scoring import Reply


class Direct:
    """`Asks` of engines by name, each asked over whatever it speaks."""

    def __init__(self, **engines: Engine) -> None:
        self._engines = engines

    async def ask(self, contestant: str, request: GenerationRequest, *, prefix: str | None = None) -> Reply:
        del prefix
        text, finish = "", None
        async for item in self._engines[contestant].generate(request):
            if isinstance(item, Piece):
                text += item.text
            else:
                finish = item
        assert isinstance(finish, Finish)
        return Reply(text, finish.reason.value, finish.prompt_tokens, finish.completion_tokens)
