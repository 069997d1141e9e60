"""A stand-in for the Hugging Face hub on loopback: it speaks the hub's protocol to the real client.

Metadata comes by HEAD. A large file is stored elsewhere: the hub redirects to a second host, with the file's size and
digest in the redirect. A small one is redirected to a path of the hub itself. Ranges are served, as a client that takes
up a cut download asks for them.
"""

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from tests.support.http_server import http_server


@dataclass
class StandInHub:
    """One repository at one commit. `refuse` answers everything with that status, `cuts` breaks off so many bodies."""

    repo: str
    revision: str
    files: dict[str, bytes]
    large: str = "tokenizer.json"
    cuts: int = 0
    refuse: int | None = None
    error_code: str = ""
    silent: bool = False
    url: str = ""
    storage: str = ""
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)

    @property
    def small(self) -> str:
        """Where small files are redirected to."""
        return f"/api/resolve-cache/models/{self.repo}/{self.revision}"

    def paths(self, name: str) -> list[str]:
        """Where a file may be asked for: at the commit, which is that of the main branch."""
        return [f"/{self.repo}/resolve/{revision}/{name}" for revision in (self.revision, "main")]

    @contextmanager
    def running(self) -> Iterator["StandInHub"]:
        """Serve until the block ends."""
        self.released = threading.Event()
        with http_server(type("Handler", (_Handler,), {"hub": self})) as self.url:
            self.storage = self.url.replace("127.0.0.1", "localhost")
            try:
                yield self
            finally:
                self.released.set()


class _Handler(BaseHTTPRequestHandler):
    hub: StandInHub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        hub = self.hub
        hub.asked.append((self.command, self.path, self.headers.get("Authorization")))
        if hub.silent:
            hub.released.wait()
            self.close_connection = True
            return
        name = self.path.rpartition("/")[2]
        if self.path in (f"/stored/{name}", f"{hub.small}/{name}"):
            self._send(hub.files[name], body)
        elif hub.refuse:
            self._head(hub.refuse, {"X-Error-Code": hub.error_code, "Content-Length": "0"})
        elif name not in hub.files or self.path not in hub.paths(name):
            self._head(404, {"X-Error-Code": "EntryNotFound", "Content-Length": "0"})
        elif name == hub.large:
            self._redirect_to_storage(name)
        else:
            self._head(307, {"Location": f"{hub.small}/{name}", "Content-Length": "0"})

    def _redirect_to_storage(self, name: str) -> None:
        data = self.hub.files[name]
        linked = {"X-Linked-Size": str(len(data)), "X-Linked-Etag": f'"{hashlib.sha256(data).hexdigest()}"'}
        self._head(302, {"Location": f"{self.hub.storage}/stored/{name}", "Content-Length": "0", **linked})

    def _send(self, data: bytes, body: bool) -> None:
        start = int(match[1]) if (match := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))) else 0
        headers = {"ETag": f'"{hashlib.sha1(data, usedforsecurity=False).hexdigest()}"'}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        self._head(206 if start else 200, {**headers, "Content-Length": str(len(data) - start)})
        if not body:
            return
        if self.hub.cuts > 0:
            self.hub.cuts -= 1
            self.wfile.write(data[start : start + (len(data) - start) // 2])
            self.close_connection = True
        else:
            self.wfile.write(data[start:])

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in {"X-Repo-Commit": self.hub.revision, **headers}.items():
            self.send_header(key, value)
        self.end_headers()
