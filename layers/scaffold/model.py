"""From a repository's files to a manifest, and notes on what a person should look at."""

import json
import tomllib
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from tokenizers import Tokenizer as Encoder

from layers.canonical import canonical_tokenizer
from layers.downloads import sha256
from layers.errors import BuildError, first_line
from layers.manifest import Manifest, Tokenizer
from layers.scaffold.probe import Probe
from layers.scaffold.repository import Repository, read_json
from layers.scaffold.text import manifest_text
from layers.scaffold.vision import UnknownRuleError, image_rule

MAX_REQUEST_BYTES = 4_718_592
CONFIG, TEMPLATE, PREPROCESSOR = "tokenizer_config.json", "chat_template.jinja", "preprocessor_config.json"
# Encoded by the published tokenizer and by the layer's form of it, which must agree.
SAMPLES = [
    "How many tokens is this?",
    "  two  spaces\r\n\ttab é\u0301 你好 👩‍👩‍👧 1234567",
    "def f(x):\n    return x  # ...\n",
]


@dataclass(frozen=True, slots=True)
class Scaffold:
    """A manifest's text, what a person should look at, and the layer's files."""

    manifest: str
    notes: list[str]
    files: dict[str, bytes]


def scaffold(model_id: str, repository: Repository, context: int | None) -> Scaffold:
    """What is found out of a model.

    Args:
        context: the context length in tokens; None takes it from the model's configuration.

    Raises:
        BuildError: a file is missing or in no known form.
    """
    length = context or _context_length(repository)
    config = read_json(repository, CONFIG)
    published = _needed(repository, "tokenizer.json")
    added = _missing_tokens(published, config)
    template, place = _template(repository, config)
    probe = Probe(template, _special_tokens(config))
    image, notes = _image(repository, config, probe)
    files = {"tokenizer.json": _canonical(published, added), TEMPLATE: template.encode()}
    if image and (data := repository.read(PREPROCESSOR)) is not None:
        files[PREPROCESSOR] = data
    if unset := probe.unset():
        notes.append(f"the chat template also reads {', '.join(unset)}, which nothing sets")
    manifest = {
        "id": model_id,
        "context_length": length,
        "max_request_bytes": MAX_REQUEST_BYTES,
        "template": _set(probe.rules().model_dump()),
        "image": image,
        "files": {file: sha256(data) for file, data in files.items()},
        "tokenizer": added and _set(added.model_dump()),
        "sources": _sources(repository, sha256(published), sha256(files["tokenizer.json"]), place),
    }
    return Scaffold(_checked(manifest_text(manifest)), notes, files)


def _set(table: dict[str, Any]) -> dict[str, Any]:
    """What says something, the default form of a call's arguments aside."""
    return {key: value for key, value in table.items() if value not in (None, {}, [], "object")}


def _needed(repository: Repository, file: str) -> bytes:
    data = repository.read(file)
    if data is None:
        raise BuildError(f"there is no {file}, and nothing else says how the model encodes text")
    return data


def _context_length(repository: Repository) -> int:
    config = read_json(repository, "config.json")
    for table in (config, config.get("text_config") or {}):
        if isinstance(length := table.get("max_position_embeddings"), int):
            return length
    raise BuildError("config.json does not say how many tokens the model takes: say it with CONTEXT=<tokens>")


def _special_tokens(config: dict[str, Any]) -> dict[str, str]:
    """The tokens that templates know by name; each is given as text or as an object with its flags."""
    named = config | (config.get("extra_special_tokens") or {})
    texts = {name: value.get("content") if isinstance(value, dict) else value for name, value in named.items()}
    return {name: text for name, text in texts.items() if name.endswith("_token") and isinstance(text, str)}


def _template(repository: Repository, config: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The chat template, as transformers would find it, and where it is if not in a file of its own."""
    if (data := repository.read(TEMPLATE)) is not None:
        return data.decode(), {}
    for file in ("chat_template.json", CONFIG):
        found = (config if file == CONFIG else read_json(repository, file)).get("chat_template")
        path: list[str | int] = ["chat_template"]
        if isinstance(found, list):
            number = next((at for at, each in enumerate(found) if each.get("name") == "default"), 0)
            path, found = [*path, number, "template"], found[number]["template"]
        if isinstance(found, str):
            return found, {TEMPLATE: {"file": file, "json_path": path}}
    raise BuildError("there is no chat template, so nothing says how the model sees messages")


def _missing_tokens(published: bytes, config: dict[str, Any]) -> Tokenizer | None:
    """The added tokens that the configuration knows and tokenizer.json does not."""
    try:
        own = {token["id"] for token in json.loads(published)["added_tokens"]}
        known = {int(number): token for number, token in (config.get("added_tokens_decoder") or {}).items()}
        missing = [(number, known[number]) for number in sorted(known.keys() - own)]
        if not missing:
            return None
        first = missing[0][0]
        tokens = [token["content"] for _, token in missing]
        plain = [token["content"] for _, token in missing if not token["special"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BuildError(f"the added tokens are not in a known form: {error!r}") from error
    added = Tokenizer(first_added_id=first, added_tokens=tokens, not_special=plain)
    if any(ours != token | {"id": number} for ours, (number, token) in zip(added.added(), missing, strict=True)):
        raise BuildError(f"{CONFIG} adds tokens to tokenizer.json in a way that a manifest cannot say")
    return added


def _canonical(published: bytes, added: Tokenizer | None) -> bytes:
    """The layer's form of tokenizer.json; raises BuildError where it encodes in another way."""
    data = canonical_tokenizer(published, added.added() if added else [])
    theirs, ours = (Encoder.from_str(each.decode()) for each in (published, data))
    for text in SAMPLES:
        if theirs.encode(text, add_special_tokens=False).ids != ours.encode(text, add_special_tokens=False).ids:
            raise BuildError("the layer's form of tokenizer.json gives other tokens: this kind is not known")
    return data


def _image(repository: Repository, config: dict[str, Any], probe: Probe) -> tuple[dict[str, Any] | None, list[str]]:
    """The image rule, or none and a note."""
    general = read_json(repository, "processor_config.json")
    processor = general | (general.get("image_processor") or {}) | read_json(repository, PREPROCESSOR)
    if not processor:
        return None, []
    try:
        return image_rule(processor, _special_tokens(config), probe), []
    except UnknownRuleError as error:
        return None, [f"{error}: vision is off, and a request with an image is refused"]


def _sources(repository: Repository, published: str, canonical: str, place: dict[str, Any]) -> list[dict[str, Any]]:
    own = {"name": "folder", "path": "files"}
    source = repository.source()
    if source is None:
        return [own]
    originals = {"tokenizer.json": published} if published != canonical else {}
    return [source | {"originals": originals, "files": place}, own]


def _checked(text: str) -> str:
    try:
        Manifest.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise BuildError(f"the model needs a manifest that is none: {first_line(error)}") from error
    return text
