"""Ways to count text in this process, from a request's JSON text to the number."""

import json
import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

# Set before the library is loaded: all it needs is in the layer.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import transformers
from tokenizers import Tokenizer

from tokencount.adapters.chat_template import JinjaChatTemplate
from tokencount.adapters.images import Images
from tokencount.adapters.model_files import load_counter, load_spec
from tokencount.adapters.validation import validate
from tokencount.domain.chat import Image, to_chat
from tokencount.domain.counting import Counter, Job
from tokencount.domain.errors import ContextLengthExceeded
from tokencount.domain.ports import Caller
from tokencount.domain.strict_json import loads

CALLER = Caller("org", "prj", ("infer:run",), "req_1")


def _no_fetch(_images: Sequence[Image], _caller: Caller) -> Sequence[bytes]:
    raise AssertionError("no image is elsewhere")


class Ours:
    """A counter, from a request's JSON text."""

    def __init__(self, counter: Counter) -> None:
        self.counter = counter

    @classmethod
    def restored(cls, model: Path) -> Self:
        """As a snapshot holds it: with the fast engine, where the layer's build admitted one."""
        return cls(load_counter(model, Images(_no_fetch), fast_engine_after=0))

    def count(self, body: bytes) -> int:
        """Validated, rendered and encoded; a prompt that is too long is as well, before it is refused."""
        job = Job(validate(loads(body)), CALLER, lambda _phase: nullcontext(), lambda: 20.0)
        try:
            return self.counter.count(job).input_tokens
        except ContextLengthExceeded as error:
            return int(error.message.split()[3])


class Plain:
    """The compiled template and the tokenizers library."""

    def __init__(self, model: Path) -> None:
        self._rules = load_spec(model).template
        self._template = JinjaChatTemplate((model / "chat_template.jinja").read_text("utf-8"))
        self._tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))

    def count(self, body: bytes) -> int:
        """Rendered and encoded."""
        prompt = self._template.render(to_chat(json.loads(body), self._rules))
        return len(self._tokenizer.encode(prompt, add_special_tokens=False))


class Transformers:
    """transformers' tokenizer as its documentation calls it."""

    def __init__(self, model: Path) -> None:
        self._rules = load_spec(model).template
        self._tokenizer: Any = transformers.PreTrainedTokenizerFast(
            tokenizer_file=str(model / "tokenizer.json"),
            chat_template=(model / "chat_template.jinja").read_text("utf-8"),
            **self._rules.special_tokens,
        )

    def count(self, body: bytes) -> int:
        """The chat template applied, to ids."""
        chat = to_chat(json.loads(body), self._rules)
        options = {name: value for name, value in chat.options.items() if name not in self._rules.special_tokens}
        ids = self._tokenizer.apply_chat_template(
            chat.messages, tools=chat.tools, add_generation_prompt=True, return_dict=False, **options
        )
        return len(ids)
