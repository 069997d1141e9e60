"""An npm registry on loopback that holds one package; the real npm asks it."""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote

from tests.support.http_server import http_server


@contextmanager
def npm_registry(name: str, tarball: bytes) -> Iterator[str]:
    """The registry's URL, while it serves version 1.0.0 of the package."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/package.tgz":
                self._send(200, tarball)
            elif unquote(self.path) == f"/{name}":
                self._send(200, json.dumps(document(url)).encode())
            else:
                self._send(404, b'{"error": "not found"}')

        def _send(self, status: int, data: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def document(url: str) -> dict[str, object]:
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
        dist = {"tarball": f"{url}/package.tgz", "integrity": integrity}
        version = {"name": name, "version": "1.0.0", "dist": dist}
        return {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}

    with http_server(Handler) as url:
        yield url
