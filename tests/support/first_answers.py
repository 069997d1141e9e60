"""A loopback proxy before the stack that gives the first answers itself: those that no client can ask the stack for."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

import urllib3

from local.proxy import http_response
from tests.support.edge import CONTEXT, EdgeUnderTest, event
from tests.support.http_server import http_server
from tests.support.requests import Json, request
from tokencount.adapters.node_protocol import COUNT_PATH
from tokencount.domain.errors import CountError

HOP_BY_HOP = {"connection", "host", "transfer-encoding"}


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request that came in, its header names in lower case."""

    path: str
    headers: dict[str, str]


@dataclass(slots=True)
class Front:
    """The proxy's URL, the requests that arrived, and the answers still to be given in place of the stack's."""

    url: str
    arrivals: list[Arrival] = field(default_factory=list)
    answers: list[Json] = field(default_factory=list)


def edge_answer(error: CountError) -> Json:
    """What the real edge answers, to API Gateway, where the count ends with `error`."""
    edge = EdgeUnderTest()

    def fail(*_: object) -> None:
        raise error

    edge.node.count = fail  # type: ignore[method-assign,assignment]
    return edge.edge(event("POST", COUNT_PATH, request() | {"model": "b3os/tiny"}), CONTEXT)


@contextmanager
def front_of(stack_url: str) -> Iterator[Front]:
    """The proxy, while it runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            front.arrivals.append(Arrival(self.path, headers))
            if front.answers:
                answer = http_response(json.dumps(front.answers.pop(0)).encode())
                self._send(answer.status_code, answer.headers.items(), bytes(answer.body))
                return
            kept = {name: value for name, value in headers.items() if name not in HOP_BY_HOP}
            passed = urllib3.request("POST", stack_url + self.path, body=body, headers=kept, retries=False)
            self._send(passed.status, passed.headers.items(), passed.data)

        def _send(self, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    with http_server(Handler) as url:
        front = Front(url)
        yield front
