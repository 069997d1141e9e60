"""Loads a model's layer: its data, its template and its tokenizer, each checked against its digest."""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tokencount.adapters.chat_template import JinjaChatTemplate
from tokencount.adapters.engines import FastEngine
from tokencount.adapters.tokenizer import FasterTokenizer, HuggingFaceTokenizer
from tokencount.domain.counting import Counter, ImageReader
from tokencount.domain.model import ModelSpec


class BrokenLayer(Exception):
    """A file of the layer is missing or is not the one it was built with; nothing may be counted with it."""


def load_counter(
    folder: Path,
    read_images: ImageReader,
    now: Callable[[], datetime] = datetime.now,
    fast_engine_after: int | None = None,
) -> Counter:
    """The counter of the model whose layer is at `folder`.

    Args:
        now: the clock, for a template that writes the date.
        fast_engine_after: how many counts come before the fast engine is loaded, beside them; 0 loads it here, and None
            never.

    Raises:
        BrokenLayer: names the file.
    """
    spec = load_verified_spec(folder)
    template = JinjaChatTemplate((folder / "chat_template.jinja").read_text(encoding="utf-8"), now)
    path = folder / "tokenizer.json"
    tokenizer = HuggingFaceTokenizer(path)
    if fast_engine_after is None:
        return Counter(spec, template, tokenizer, read_images)
    faster = FasterTokenizer(tokenizer, lambda: FastEngine.admitted(path, spec.fast_engine), fast_engine_after)
    return Counter(spec, template, faster, read_images)


def load_verified_spec(folder: Path) -> ModelSpec:
    """The model's data, where the layer's other files are those that it was built with.

    Raises:
        BrokenLayer: names the file.
    """
    spec = load_spec(folder)
    for name, digest in spec.digests.items():
        if hashlib.sha256(_read(folder / name)).hexdigest() != digest:
            raise BrokenLayer(f"{folder / name} is not the file the layer of {spec.id} was built with")
    return spec


def load_spec(folder: Path) -> ModelSpec:
    """The model's data, from `model.json`.

    Raises:
        BrokenLayer: it is missing or unreadable.
    """
    path = folder / "model.json"
    try:
        return ModelSpec.from_dict(json.loads(_read(path)))
    except (ValueError, KeyError, TypeError) as error:
        raise BrokenLayer(f"{path} is not a model's data: {error}") from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BrokenLayer(f"{path} cannot be read: {error.strerror}") from error
