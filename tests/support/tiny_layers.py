"""A built layer of a model in which every ASCII character is a token."""

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.support.byte_tokenizer import byte_tokenizer

PLAIN = "{% for message in messages %}{{ message.content }}{% endfor %}"


def tiny_layer(folder: Path, template: str = PLAIN, **rest: Any) -> Path:
    """The folder, with the files of a model that takes 100 tokens in 1000 bytes; `rest` says otherwise."""
    model = folder / "model"
    model.mkdir(parents=True)
    byte_tokenizer(model)
    (model / "chat_template.jinja").write_text(template)
    names = ("tokenizer.json", "chat_template.jinja")
    digests = {name: hashlib.sha256((model / name).read_bytes()).hexdigest() for name in names}
    known = {
        "id": "test/tiny",
        "context_length": 100,
        "max_request_bytes": 1000,
        "tokenizer_revision": hashlib.sha256(json.dumps(digests).encode()).hexdigest()[:16],
        "digests": digests,
        "template": {"content": "strings", "reasoning_key": "thinking", "thinking": {}, "missing_description": None},
        "image": None,
        "endpoint": None,
        "fast_engine": None,
    }
    (model / "model.json").write_text(json.dumps(known | rest))
    return folder
