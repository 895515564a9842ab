"""WordPiece as the encoder was trained with, made from its word list."""

from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from agon.core.errors import InvalidInput, NotFound

_UNKNOWN, _START, _SEPARATOR = "[UNK]", "[CLS]", "[SEP]"
_MAX_WORD_CHARACTERS = 100


class WordPieces:
    """`Tokeniser` of the encoder: lower case, without accents, Chinese characters one by one."""

    def __init__(self, vocabulary: Path) -> None:
        words = _words(vocabulary)
        model = WordPiece(vocab=words, unk_token=_UNKNOWN, max_input_chars_per_word=_MAX_WORD_CHARACTERS)
        self._tokenizer = Tokenizer(model)
        self._tokenizer.normalizer = BertNormalizer()
        self._tokenizer.pre_tokenizer = BertPreTokenizer()
        self._start, self._separator = words[_START], words[_SEPARATOR]

    @property
    def start(self) -> int:
        return self._start

    @property
    def separator(self) -> int:
        return self._separator

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of each text, without special ones."""
        return [each.ids for each in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]


def _words(vocabulary: Path) -> dict[str, int]:
    try:
        lines = vocabulary.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise NotFound(f"There is no word list at {vocabulary}.") from None
    words = {line: place for place, line in enumerate(lines) if line}
    if not {_UNKNOWN, _START, _SEPARATOR} <= words.keys():
        raise InvalidInput(f"{vocabulary} is not a WordPiece word list.", code="bad_vocabulary")
    return words
