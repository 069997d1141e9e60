"""The egress guard: opens what a client names, at hosts of the public internet alone.

A name is resolved once, every address it has is judged, and the connection goes to one that was judged: where the name
points afterwards does not matter. No redirect is followed, no proxy asked, and a refusal names the rule, never what is
behind it.
"""

import queue
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import certifi

from tokencount.adapters.addresses import is_public
from tokencount.adapters.egress_answer import Answer, Deadline, explained
from tokencount.adapters.egress_errors import Denied, Failed
from tokencount.adapters.egress_target import PORT, Target, target_of

Resolver = Callable[[str], Sequence[str]]
Dialler = Callable[[str, float], socket.socket]

# Of a host's addresses; each gets its share of the time.
_TRIED_ADDRESSES = 4


def resolve(host: str) -> list[str]:
    """Every address of a host, by the system's resolver. Raises OSError where it has none."""
    return list(dict.fromkeys(str(found[4][0]) for found in socket.getaddrinfo(host, PORT, type=socket.SOCK_STREAM)))


def dial(address: str, seconds: float) -> socket.socket:
    """A connection to an address, never to a name. Raises OSError."""
    return socket.create_connection((address, PORT), timeout=seconds)


@cache
def public_trust() -> ssl.SSLContext:
    """The public certificate authorities, whatever the environment says of others."""
    # Not `create_default_context`: it obeys SSL_CERT_FILE and SSLKEYLOGFILE.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(certifi.where())
    return context


class EgressGuard:
    """Opens URLs within the rules.

    Args:
        allowed: host suffixes that alone may be asked; empty for every host.
        denied: host suffixes that may not.
        resolver, dialler: how names become addresses, and addresses connections.
        trust: gives the context that TLS connections are made in.
    """

    def __init__(
        self,
        *,
        allowed: Sequence[str] = (),
        denied: Sequence[str] = (),
        resolver: Resolver = resolve,
        dialler: Dialler = dial,
        trust: Callable[[], ssl.SSLContext] = public_trust,
    ) -> None:
        self._allowed = tuple(allowed)
        self._denied = tuple(denied)
        self._resolver = resolver
        self._dialler = dialler
        self._trust = trust

    @contextmanager
    def open(self, url: str, deadline: Deadline) -> Iterator[Answer]:
        """A 200 answer to GET, its body unread.

        Raises:
            Denied: a rule forbids it.
            Failed: it cannot be had.
        """
        target = self.check(url)
        with explained():
            addresses = self._public_addresses(target.host, deadline)
            connection = self._connect(addresses, target.host, deadline)
        with connection:
            yield Answer(connection, target, deadline)

    def check(self, url: str) -> Target:
        """Where a URL points, judged by its text alone. Raises what `open` does."""
        target = target_of(url)
        if _matches(target.host, self._denied) or (self._allowed and not _matches(target.host, self._allowed)):
            raise Denied("its host is not one that this service may ask")
        return target

    def _public_addresses(self, host: str, deadline: Deadline) -> Sequence[str]:
        """All addresses of the host, once each of them has been found public."""
        addresses = self._resolve(host, deadline)
        if not all(is_public(address) for address in addresses):
            raise Denied("its host has an address that is not public")
        return addresses

    def _resolve(self, host: str, deadline: Deadline) -> Sequence[str]:
        # The system's resolver knows no deadline: a thread that hangs in it is left behind.
        answers: queue.SimpleQueue[Sequence[str]] = queue.SimpleQueue()
        seconds = deadline.left()

        def ask() -> None:
            try:
                answers.put(self._resolver(host))
            except (OSError, UnicodeError):
                answers.put(())

        threading.Thread(target=ask, daemon=True).start()
        try:
            addresses = answers.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if not addresses:
            raise Failed("its host has no address")
        return addresses

    def _connect(self, addresses: Sequence[str], host: str, deadline: Deadline) -> ssl.SSLSocket:
        raw = self._dial(addresses[:_TRIED_ADDRESSES], deadline)
        try:
            raw.settimeout(deadline.left())
            return self._trust().wrap_socket(raw, server_hostname=host)
        except BaseException:
            raw.close()
            raise

    def _dial(self, addresses: Sequence[str], deadline: Deadline) -> socket.socket:
        for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            try:
                return self._dialler(address, deadline.left() / left)
            except OSError:
                if left == 1:
                    raise
        raise AssertionError("a host without addresses was refused")


def _matches(host: str, suffixes: Sequence[str]) -> bool:
    return any(host == suffix or host.endswith(f".{suffix}") for suffix in suffixes)
