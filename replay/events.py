"""Event files, the answers stored beside them, and the placeholders that keep secrets out of both."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class ReplayError(Exception):
    """The replay cannot run; the text is one sentence that says why."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event file as text, and the answer it should get."""

    name: str
    text: str
    expected: dict[str, Any]

    def filled(self, key: str, request_id: Callable[[], str]) -> dict[str, Any]:
        """The event with this API key, and with the id of a request that has a record if it looks one up."""
        text = self.text.replace("{{API_KEY}}", json.dumps(key)[1:-1])
        if "{{REQUEST_ID}}" in text:
            text = text.replace("{{REQUEST_ID}}", request_id())
        event: dict[str, Any] = json.loads(text)
        return event


def read_event(path: Path) -> Event:
    """The event in a file, with `expected/<name>` beside it.

    Raises:
        ReplayError: one of both is missing or not what it should be.
    """
    event, expected = read_object(path), read_object(path.parent / "expected" / path.name)
    if not {"httpMethod", "path", "headers", "body"} <= event.keys():
        raise ReplayError(f"{path} is no REST proxy event of API Gateway")
    if not {"statusCode", "headers", "body"} <= expected.keys():
        raise ReplayError(f"the answer expected for {path} lacks statusCode, headers or body")
    return Event(path.name, path.read_text("utf-8"), expected)


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Raises ReplayError."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ReplayError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ReplayError(f"{path} is no JSON: {error}") from error
    if not isinstance(content, dict):
        raise ReplayError(f"{path} is no JSON object")
    return content
