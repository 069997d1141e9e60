"""The model's tokenizer: a text is cut into pieces, and what was counted before is not counted again."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from threading import Thread

from tokencount.adapters.engines import Engine, EngineRefused, ExactEngine
from tokencount.adapters.text_cuts import safe_cut

# About as many characters are encoded at once: the library takes half a kilobyte a token, and one body can come to 19
# million tokens. A text that begins as an earlier one is also cut as that one was.
PIECE = 4096
# Some 5 MB, for 100 million characters.
REMEMBERED = 25_000


class HuggingFaceTokenizer:
    """Counts with a `tokenizer.json`."""

    def __init__(self, path: Path) -> None:
        exact = ExactEngine(path)
        self._cut = safe_cut(exact.tokenizer)
        self._engine: Engine = exact
        self._counts = PieceCounts()

    def use(self, engine: Engine) -> None:
        """Encode with another engine from now on, which gives the same ids."""
        self._engine = engine

    def count(self, text: str) -> int:
        """Tokens of `text`; special tokens written in it count as such, none are added."""
        return sum(self._counts.count(piece, self._engine) for piece in self._pieces(text))

    def _pieces(self, text: str) -> Iterator[str]:
        start = 0
        while self._cut and (cut := self._cut.search(text, start + PIECE)):
            yield text[start : cut.start()]
            start = cut.start()
        yield text[start:]


class PieceCounts:
    """Remembers how many tokens a piece has by the piece's digest, and nothing of its text."""

    def __init__(self) -> None:
        self._counts: OrderedDict[bytes, int] = OrderedDict()

    def count(self, piece: str, engine: Engine) -> int:
        """Tokens of `piece`, by `engine` where they are not known."""
        digest = sha256(piece.encode()).digest()
        tokens = self._counts.get(digest)
        if tokens is None:
            tokens = self._counts[digest] = engine.count(piece)
            if len(self._counts) > REMEMBERED:
                self._counts.popitem(last=False)
        else:
            self._counts.move_to_end(digest)
        return tokens


class FasterTokenizer:
    """Counts with a tokenizer that a fast engine is put into.

    Args:
        load: takes its seconds; raises EngineRefused where the tokenizer keeps the engine that it has.
        after: how many counts come first; with 0 it is loaded here.
    """

    def __init__(self, tokenizer: HuggingFaceTokenizer, load: Callable[[], Engine], after: int) -> None:
        self._tokenizer = tokenizer
        self._load = load
        self._left = after
        if after == 0:
            self._put_in()

    def count(self, text: str) -> int:
        """Tokens of `text`, the same by either engine."""
        tokens = self._tokenizer.count(text)
        self._left -= 1
        if self._left == 0:
            # Beside the requests that come meanwhile: the library loads without the interpreter's lock.
            Thread(target=self._put_in, name="fast engine", daemon=True).start()
        return tokens

    def _put_in(self) -> None:
        try:
            self._tokenizer.use(self._load())
        except EngineRefused as refused:
            logging.getLogger(__name__).warning("counting with the tokenizers library alone: %s", refused)
