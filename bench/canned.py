"""AWS that answers at once, so that only the function is measured: a stand-in's first answers, given again."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import urllib3

from tests.support.http_server import http_server

_READS = ("GetItem", "GetSecretValue")
_KEPT = ("content-type", "x-amz-crc32")


def granted(update: Mapping[str, Any]) -> bytes:
    """What the limits table says where there is room: of a window what is used, of leases that this one is held."""
    lease = update["ExpressionAttributeNames"].get("#own", "none")
    row = {"used": {"N": "1"}, "leases": {"M": {lease: {"N": "9999999999"}}}}
    return json.dumps({"Attributes": row}).encode()


@contextmanager
def canned(behind: str, invoked: bytes) -> Iterator[str]:
    """The URL for every service of `behind`, and for Lambda, whose functions give `invoked`."""
    answers: dict[str, tuple[bytes, Mapping[str, str]]] = {}

    class Services(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Else the body waits 40 ms until the head is acknowledged.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            target = self.headers.get("x-amz-target")
            if target is None:
                return self._send(invoked, {})
            if target.endswith("UpdateItem"):
                return self._send(granted(json.loads(body)), {})
            key = target + (body.decode() if target.endswith(_READS) else json.loads(body)["TableName"])
            if key not in answers:
                headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                answer = urllib3.request("POST", behind, body=body, headers=headers)
                assert answer.status == 200, answer.data
                answers[key] = answer.data, {name: answer.headers[name] for name in _KEPT if name in answer.headers}
            return self._send(*answers[key])

        def _send(self, body: bytes, headers: Mapping[str, str]) -> None:
            self.send_response_only(200)
            for name, value in {**headers, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    with http_server(Services) as url:
        yield url
