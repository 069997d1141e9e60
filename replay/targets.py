"""Where an event goes: to the edge function on this machine, or as an HTTP request to a running service."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode

import urllib3

from edge.request import EdgeRequest
from local.stack import Stack

NOT_SENT = {"host", "x-forwarded-for", "x-forwarded-port", "x-forwarded-proto"}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: status, headers with lower-case names, and the body as JSON, or as text if it is none."""

    status: int
    headers: Mapping[str, str]
    body: Any


class Target(Protocol):
    """What answers events."""

    key: str

    def send(self, event: Mapping[str, Any]) -> Reply:
        """The answer to a REST proxy event."""


class Function:
    """The edge function of a local stack, invoked with the event itself."""

    def __init__(self, stack: Stack) -> None:
        self.key = stack.api_key
        self._stack = stack

    def send(self, event: Mapping[str, Any]) -> Reply:
        """The answer of the function; one that failed is a 502, as behind API Gateway."""
        answer = self._stack.invoke("EdgeFunction", event)
        if answer.failed:
            return Reply(502, {}, json.loads(answer.payload))
        content = json.loads(answer.payload)
        return Reply(content["statusCode"], _lower(content["headers"]), _parsed(content["body"]))


class Service:
    """A running service, asked over HTTP."""

    def __init__(self, url: str, key: str) -> None:
        self.key = key
        self._url = url.rstrip("/")

    def send(self, event: Mapping[str, Any]) -> Reply:
        """The answer to the request that API Gateway would have made this event of."""
        headers = {name: value for name, value in event["headers"].items() if name.lower() not in NOT_SENT}
        answer = urllib3.request(
            event["httpMethod"],
            self._url + event["path"] + _query(event),
            body=EdgeRequest(event).body or None,
            headers=headers,
            redirect=False,
            retries=False,
            timeout=35,
        )
        return Reply(answer.status, _lower(answer.headers), _parsed(answer.data.decode(errors="replace")))


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _query(event: Mapping[str, Any]) -> str:
    several = event.get("multiValueQueryStringParameters")
    return f"?{urlencode(several, doseq=True)}" if several else ""


def _parsed(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body
