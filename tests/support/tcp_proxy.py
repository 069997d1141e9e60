"""A TCP proxy before one service, which a test makes refuse, slow down or hang."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

HOST = "127.0.0.1"


class Proxy:
    """A proxy on a port of its own, sound at first."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname or HOST, parts.port or 80)
        self._flows = threading.Event()
        self._flows.set()
        self._delay = 0.0
        self._open: set[socket.socket] = set()
        self._listen(_bound(0))
        self.url = "http://{}:{}".format(*self._listener.getsockname())

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Ends every connection, and takes no new one, during the block."""
        port = self._listener.getsockname()[1]
        self._close()
        # Bound and not listened to: the port stays ours, and whoever connects is refused.
        waiting = _bound(port)
        try:
            yield
        finally:
            self._listen(waiting)

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Takes connections and holds back what they carry; it arrives after the block, though nobody waits for it."""
        self._flows.clear()
        try:
            yield
        finally:
            self._flows.set()

    @contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        """Holds back each piece for so long, in both directions, during the block."""
        self._delay = seconds
        try:
            yield
        finally:
            self._delay = 0.0

    def close(self) -> None:
        """End it and every connection."""
        self._flows.set()
        self._close()

    def _listen(self, bound: socket.socket) -> None:
        bound.listen(128)
        self._listener = bound
        threading.Thread(target=self._accept, args=(bound,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = listener.accept()
                try:
                    server = socket.create_connection(self._target)
                except OSError:
                    client.close()
                    continue
                for one, other in ((client, server), (server, client)):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._open.add(one)
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self._flows.wait()
                time.sleep(self._delay)
                target.sendall(data)
        for each in (source, target):
            _end(each)
            self._open.discard(each)

    def _close(self) -> None:
        for each in (self._listener, *self._open.copy()):
            _end(each)


def _bound(port: int) -> socket.socket:
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind((HOST, port))
    return bound


def _end(each: socket.socket) -> None:
    """A thread that waits for it is woken, which closing alone does not do."""
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
