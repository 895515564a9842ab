"""The supervisor's voice: a moving line at a terminal, plain lines elsewhere."""

from rich.console import Console
from rich.text import Text


class Terminal:
    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._status = self._console.status("")
        self._shown = ""

    def say(self, text: str) -> None:
        self._console.print(text, markup=False)

    def show_progress(self, text: str) -> None:
        """What is going on right now; the same text again says nothing new."""
        if text == self._shown:
            return
        self._shown = text
        if self._console.is_terminal:
            self._status.update(Text(text))
            self._status.start()
        else:
            self.say(f"{text} …")

    def end_progress(self) -> None:
        self._shown = ""
        self._status.stop()
