"""What the OpenAPI document promises of an answer, and what an answer broke of it. It knows no code of the service."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from jsonschema_rs import Draft202012Validator

COUNT_PATH = "/v1/infer/v1/messages/count_tokens"
_INTERNALS = re.compile(r"Traceback|pydantic|<class|object at 0x|\bNone\b|\bdict\b")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it came over the wire, header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float

    @property
    def code(self) -> str:
        """The error's code; empty for a success."""
        if self.status < 400 or not self.body:
            return ""
        try:
            body = json.loads(self.body)
            return str((body.get("b3os") or body["error"])["code"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return "unreadable"


class Contract:
    """The document's promises."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._components: Mapping[str, Any] = document["components"]
        self._paths = [(_pattern(path), methods) for path, methods in document["paths"].items()]
        self._validator = cache(self._compiled)

    def faults(self, method: str, target: str, answer: Answer) -> list[str]:
        """What is not as promised in the answer of a sound service to this request; empty where all is well."""
        if answer.status >= 500:
            return [f"status {answer.status}"]
        return self.faults_of_form(method, target, answer)

    def faults_of_form(self, method: str, target: str, answer: Answer) -> list[str]:
        """Likewise where something may be broken, and a documented 5xx says so."""
        promised = self._promised(method, urlsplit(target).path, answer.status)
        if promised is None:
            return [f"{answer.status} is no status of this route"]
        headers = {} if _is_the_gateway_s(answer) else promised["headers"]
        return [
            *self._header_faults(headers, answer),
            *([] if method == "HEAD" else self._body_faults(promised["content"], answer)),
        ]

    def _promised(self, method: str, path: str, status: int) -> Mapping[str, Any] | None:
        """The response object for the status, or None."""
        routes = [methods for pattern, methods in self._paths if pattern.fullmatch(path.rstrip("/") or "/")]
        if not routes:
            general: Mapping[str, Any] = self._components["responses"]["NotFound"]
            return general if status == 404 else None
        for methods in routes:
            if operation := methods.get(method.lower()):
                found: Mapping[str, Any] | None = operation["responses"].get(str(status))
                return found
        other: Mapping[str, Any] = self._components["responses"]["MethodNotAllowed"]
        return other if status == 405 else None

    def _header_faults(self, promised: Mapping[str, Any], answer: Answer) -> Iterator[str]:
        if answer.headers.get("content-type") != "application/json":
            yield f"content type {answer.headers.get('content-type')}"
        for name, header in promised.items():
            known = self._components["headers"][name] if "$ref" in header else header
            yield from self._header_fault(name, known, answer.headers.get(name.lower()))
        if answer.headers.get("request-id") != answer.headers.get("x-request-id"):
            yield "two request ids that differ"
        limits = [name for name in answer.headers if name.startswith("ratelimit-")]
        if len(limits) not in (0, 3) or (limits and "RateLimit-Limit" not in promised):
            yield f"limit headers {limits}"

    def _header_fault(self, name: str, header: Mapping[str, Any], text: str | None) -> Iterator[str]:
        if text is None:
            if header["required"]:
                yield f"no header {name}"
            return
        value = int(text) if header["schema"]["type"] == "integer" and text.isdecimal() else text
        if not self._validator(json.dumps(header["schema"])).is_valid(value):
            yield f"header {name}: {text}"

    def _body_faults(self, content: Mapping[str, Any], answer: Answer) -> Iterator[str]:
        try:
            body = json.loads(answer.body.decode("utf-8"))
        except ValueError:
            yield "a body that is no JSON"
            return
        for error in self._validator(json.dumps(content["application/json"]["schema"])).iter_errors(body):
            yield f"body at {'.'.join(map(str, error.instance_path)) or 'its top'}: {error.message}"
        if answer.status >= 400:
            yield from _error_faults(body, answer)

    def _compiled(self, schema: str) -> Draft202012Validator:
        return Draft202012Validator(json.loads(schema) | {"components": self._components})


def _is_the_gateway_s(answer: Answer) -> bool:
    """Whether API Gateway gave it by itself, for a body too large or a function that failed: the id is its own."""
    return answer.status in (413, 500, 503) and not answer.headers.get("x-request-id", "").startswith("req_")


def _error_faults(body: Mapping[str, Any], answer: Answer) -> Iterator[str]:
    if "request_id" in body and body["request_id"] != answer.headers.get("request-id"):
        yield "a request id that is not the header's"
    message = body["error"]["message"]
    if not message or len(message) > 1000:
        yield f"a message of {len(message)} characters"
    if internals := _INTERNALS.search(message):
        yield f"a message with {internals[0]}"


def _pattern(path: str) -> re.Pattern[str]:
    """The paths of a template; a model's id may hold slashes."""
    wild = ".+" if path.startswith("/v1/infer/models/") else "[^/]+"
    return re.compile(wild.join(re.escape(piece) for piece in re.split(r"\{\w+\}", path)))
