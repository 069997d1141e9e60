"""Requests with a marker in every place that a client fills: each place by itself, so that a leak tells where from."""

import base64
import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.requests import QWEN, assistant, picture, user

COUNT = "/v1/infer/v1/messages/count_tokens"
# In this place the number of the request is filled in, so that each has a marker of its own.
HERE = "MARKER"
# More than an error may quote.
LONG = HERE * 60


@dataclass(frozen=True, slots=True)
class Sent:
    """An HTTP request, and what in it must not be found anywhere else."""

    place: str
    method: str = "POST"
    path: str = COUNT
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


def whole_request() -> dict[str, Any]:
    """A valid request with the marker in every place that takes text."""
    text = {"type": "text", "text": HERE, "cache_control": {"type": HERE, HERE: HERE}, "citations": [{HERE: HERE}]}
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(picture(64, 64)).decode()}
    image = {"type": "image", "source": source}
    use = {"type": "tool_use", "id": HERE, "name": HERE, "input": {HERE: {HERE: [HERE]}}}
    result = {"type": "tool_result", "tool_use_id": HERE, "content": [text, image], "is_error": False}
    thinking = {"type": "thinking", "thinking": HERE, "signature": HERE}
    schema = {"type": "object", "properties": {HERE: {"type": "string", "description": HERE}}, HERE: HERE}
    return {
        "model": QWEN,
        "system": [text],
        "messages": [
            user(text, image),
            assistant(thinking, {"type": "redacted_thinking", "data": HERE}, use),
            user(result, text),
            user(HERE),
        ],
        "tools": [{"name": HERE, "description": HERE, "input_schema": schema}],
        "tool_choice": {"type": "tool", "name": HERE},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    }


def faulty_requests() -> Iterator[tuple[str, Any]]:
    """The whole request with one fault each: an unknown key, a wrong type or a wrong value, at every path."""
    for path in paths(whole_request()):
        for name, value in {"text": LONG, "array": [HERE], "object": {HERE: HERE}}.items():
            yield f"{'.'.join(map(str, path))} is {name}", changed(path, lambda _, value=value: value)
        yield f"{'.'.join(map(str, path))} has a key more", changed(path, with_key)


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a body."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, (*path, key))


def with_key(value: Any) -> Any:
    """An object with a key more; anything else becomes one."""
    return (value if isinstance(value, dict) else {}) | {LONG: HERE, HERE: HERE, "5": HERE}


def changed(path: tuple[Any, ...], change: Any) -> Any:
    """The whole request with the value at that path changed."""
    holder = {"body": copy.deepcopy(whole_request())}
    parent: Any = holder
    steps = ("body", *path)
    for step in steps[:-1]:
        parent = parent[step]
    parent[steps[-1]] = change(parent[steps[-1]])
    return holder["body"]


def broken_bodies() -> dict[str, bytes]:
    """Bodies that are no JSON, or not what JSON allows."""
    text = json.dumps(whole_request())
    return {
        "no json": HERE.encode(),
        "cut": text[: len(text) // 2].encode(),
        "key twice": f'{{"model": "{QWEN}", "{HERE}": 1, "{HERE}": 2}}'.encode(),
        "long key twice": f'{{"{LONG}": 1, "{LONG}": 2}}'.encode(),
        "nan": f'{{"{HERE}": NaN}}'.encode(),
        "number out of range": f'{{"{HERE}": 1e400}}'.encode(),
        "surrogate": f'{{"{HERE}": "\\ud800{HERE}"}}'.encode(),
        "not utf-8": HERE.encode() + b"\xff\xfe",
        "deep": b"[" * 500 + HERE.encode() + b"]" * 500,
        "too large": json.dumps({"model": QWEN, HERE: "x" * 5_000_000}).encode(),
        "text": json.dumps(HERE).encode(),
    }


def broken_images() -> dict[str, dict[str, Any]]:
    """Image sources that are none."""
    png = base64.b64encode(picture(64, 64) + HERE.encode()).decode()
    return {
        "base64": {"type": "base64", "media_type": "image/png", "data": HERE},
        "long base64": {"type": "base64", "media_type": "image/png", "data": LONG + "="},
        "data url": {"type": "base64", "media_type": "image/png", "data": f"data:image/{HERE};base64,{HERE}"},
        "no image": {
            "type": "base64",
            "media_type": "image/png",
            "data": base64.b64encode(HERE.encode() * 20).decode(),
        },
        "other type": {"type": "base64", "media_type": "image/jpeg", "data": png},
        "media type": {"type": "base64", "media_type": f"image/{HERE}", "data": png},
        "url": {"type": "url", "url": f"https://{HERE}.example/{HERE}?{HERE}"},
        "plain url": {"type": "url", "url": f"http://{HERE}"},
        "url with credentials": {"type": "url", "url": f"https://{HERE}:{HERE}@127.0.0.1/{HERE}"},
        "source type": {"type": HERE, HERE: HERE},
    }


def requests(api_key: str) -> Iterator[Sent]:
    """All of them, with the marker still as it stands here."""
    good = {"authorization": f"Bearer {api_key}", "content-type": "application/json"}
    whole = json.dumps(whole_request()).encode()
    yield Sent("everywhere", body=whole, headers=good)
    for place, body in faulty_requests():
        yield Sent(place, body=json.dumps(body).encode(), headers=good)
    for place, raw in broken_bodies().items():
        yield Sent(f"body: {place}", body=raw, headers=good)
    for place, source in broken_images().items():
        body = whole_request() | {"messages": [user({"type": "image", "source": source})]}
        yield Sent(f"image: {place}", body=json.dumps(body).encode(), headers=good)
    for place, headers in _headers(good).items():
        yield Sent(f"header: {place}", body=whole, headers=headers)
    for place, (method, path) in _paths().items():
        yield Sent(f"path: {place}", method, path, None if method == "GET" else whole, good)


def _headers(good: dict[str, str]) -> dict[str, dict[str, str]]:
    """Headers with the marker in everything but `user-agent`, which the record keeps."""
    own = ("x-request-id", "request-id", "x-b3os-node-token", "x-b3os-details", "server-timing", "retry-after")
    usual = ("referer", "origin", "accept", "accept-language", "accept-encoding", "forwarded", "x-custom", HERE)
    session = {"cookie": f"__Host-b3os_session={HERE}; other={HERE}", "x-b3os-csrf": HERE}
    secret = good["authorization"].removeprefix("Bearer ")
    json_type = {"content-type": "application/json"}
    return {
        "others": good | dict.fromkeys((*own, *usual), HERE) | session,
        "charset": good | {"content-type": f"application/json; charset={HERE}"},
        "content type": good | {"content-type": f"text/{HERE}"},
        "bearer": json_type | {"authorization": f"Bearer {HERE}"},
        "bearer of ours": json_type | {"authorization": f"Bearer b3os_sk_{HERE}"},
        "bearer longer": json_type | {"authorization": f"Bearer {secret}{HERE}"},
        "scheme": json_type | {"authorization": f"{HERE} {HERE}"},
        "x-api-key": json_type | {"x-api-key": HERE},
        "two that differ": good | {"x-api-key": HERE},
        "session": json_type | session,
    }


def _paths() -> dict[str, tuple[str, str]]:
    """Methods, paths and query strings with the marker."""
    return {
        "method": (HERE, COUNT),
        "unknown": ("GET", f"/v1/{HERE}"),
        "model": ("GET", f"/v1/infer/models/{HERE}"),
        "model of an owner": ("GET", f"/v1/infer/models/b3os/{LONG}"),
        "record": ("GET", f"/v1/requests/{HERE}"),
        "key": ("DELETE", f"/v1/keys/{HERE}"),
        "new key": ("POST", "/v1/keys"),
        "query of a count": ("POST", f"{COUNT}?{HERE}={HERE}"),
        "query of models": ("GET", f"/v1/infer/models?{HERE}={HERE}"),
        "query of a record": ("GET", f"/v1/requests/req_00000000000000000000000000?{HERE}={HERE}"),
        "query of keys": ("GET", f"/v1/keys?{HERE}={HERE}"),
        "unknown parameter": ("GET", f"/v1/requests?{HERE}={HERE}"),
        "long parameter": ("GET", f"/v1/requests?{LONG}={LONG}"),
        "parameter with a dot": ("GET", f"/v1/requests?limit.{HERE}={HERE}"),
        **{
            f"parameter {name}": ("GET", f"/v1/requests?{name}={LONG}")
            for name in ("status", "since", "limit", "cursor", "model")
        },
        "parameter twice": ("GET", f"/v1/requests?model={HERE}&model={HERE}"),
        "model to filter by": ("GET", f"/v1/requests?model={HERE}"),
    }
