"""An internet on loopback for the egress guard: names, addresses that lead to TLS servers here, and an authority."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import trustme

from tokencount.adapters.egress import EgressGuard

ADDRESS = "93.184.215.14"
OTHER_ADDRESS = "2606:4700::1111"
HOST = "images.example"
# Writes an answer; what it raises when the other side has gone is not looked at.
Answer = Callable[[ssl.SSLSocket], object]


def plain(body: bytes, *headers: str, status: str = "200 OK", length: int | None = None) -> Answer:
    """An answer with its length, or another one."""
    size = len(body) if length is None else length
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {size}", *headers, "", ""]).encode()
    return lambda connection: connection.sendall(head + body)


def raw(data: bytes) -> Answer:
    """An answer of these bytes alone."""
    return lambda connection: connection.sendall(data)


@dataclass
class Server:
    """A TLS server on loopback: what came, and what it answers."""

    answer: Answer
    certificate: trustme.LeafCert
    requests: list[bytes] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[int]:
        """Its port."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.certificate.configure_cert(context)
        context.sni_callback = lambda _connection, name, _context: self.names.append(name)
        connections: list[threading.Thread] = []

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    connections.append(threading.Thread(target=self._serve, args=(connection, context)))
                    connections[-1].start()

        with socket.create_server(("127.0.0.1", 0)) as listener:
            accepting = threading.Thread(target=accept)
            accepting.start()
            try:
                yield listener.getsockname()[1]
            finally:
                listener.shutdown(socket.SHUT_RDWR)
                accepting.join()
                for connection in connections:
                    connection.join()

    def _serve(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        # Nobody waits for a client that never came to speak or has gone.
        connection.settimeout(30)
        with connection, suppress(OSError), context.wrap_socket(connection, server_side=True) as secured:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                piece = secured.recv(65_536)
                if not piece:
                    return
                head += piece
            self.requests.append(head)
            self.answer(secured)


class Internet:
    """The network that a guard is given, and what it asked of it.

    Args:
        names: the addresses of each host, by each look-up.
        servers: the port here to which an address leads.
        lookups, dialled: what was asked, in its order.
    """

    def __init__(self, ending: ExitStack) -> None:
        self._ending = ending
        self.authority = trustme.CA()
        self.names: dict[str, list[Sequence[str]]] = {}
        self.servers: dict[str, int] = {}
        self.lookups: list[str] = []
        self.dialled: list[str] = []
        # Where every address leads that is not a server's: nothing is ever to come here.
        self._elsewhere = ending.enter_context(socket.create_server(("127.0.0.1", 0)))
        self._elsewhere.setblocking(False)

    def serve(
        self,
        answer: Answer,
        host: str = HOST,
        address: str = ADDRESS,
        certificate: trustme.LeafCert | None = None,
    ) -> Server:
        """A server that the host leads to."""
        server = Server(answer, certificate or self.authority.issue_cert(host))
        self.names.setdefault(host, [[address]])
        self.servers[address] = self._ending.enter_context(server.running())
        return server

    def expired(self, host: str) -> trustme.LeafCert:
        """A certificate of the authority that was good until yesterday."""
        now = datetime.now(UTC)
        return self.authority.issue_cert(host, not_before=now - timedelta(days=9), not_after=now - timedelta(days=1))

    def resolve(self, host: str) -> Sequence[str]:
        """The addresses of a host; those of the next look-up, as long as there are any."""
        self.lookups.append(host)
        known = self.names.get(host)
        if not known:
            raise socket.gaierror(socket.EAI_NONAME, "no such host")
        return known.pop(0) if len(known) > 1 else known[0]

    def dial(self, address: str, seconds: float) -> socket.socket:
        """A connection to whatever an address leads to."""
        self.dialled.append(address)
        port = self.servers.get(address) or self._elsewhere.getsockname()[1]
        return socket.create_connection(("127.0.0.1", port), timeout=seconds)

    def trust(self) -> ssl.SSLContext:
        """The authority alone."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.authority.configure_trust(context)
        return context

    def guard(self, **hosts: Sequence[str]) -> EgressGuard:
        """A guard in this internet, with these lists of hosts."""
        return EgressGuard(resolver=self.resolve, dialler=self.dial, trust=self.trust, **hosts)

    @property
    def is_untouched(self) -> bool:
        """Whether nothing came but to servers."""
        return not came(self._elsewhere)


def came(listener: socket.socket) -> bool:
    """Whether somebody has connected to a listener that does not block."""
    try:
        connection, _ = listener.accept()
    except BlockingIOError:
        return False
    connection.close()
    return True


@contextmanager
def internet() -> Iterator[Internet]:
    """An internet, as long as its servers run."""
    with ExitStack() as ending:
        yield Internet(ending)
