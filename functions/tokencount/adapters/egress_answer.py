"""A GET request over a connection that stands, and its answer, whose every piece comes before a deadline."""

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager

import h11

from tokencount.adapters.egress_errors import Denied, Failed
from tokencount.adapters.egress_target import Target

MAX_HEADER_BYTES = 65_536
_READ_BYTES = 65_536


class Deadline:
    """A moment by which all is done, however slowly its pieces come.

    Args:
        seconds: from now.
        within: another, which is not passed either.
    """

    def __init__(self, seconds: float, within: "Deadline | None" = None) -> None:
        ends = time.monotonic() + seconds
        self._ends: float = min(ends, within._ends) if within else ends

    def left(self) -> float:
        """Seconds left. Raises TimeoutError where there are none."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


class Answer:
    """A 200 answer to GET; iterating it reads the body, as it comes. Raises Failed where it does not come as declared.

    Args:
        length: bytes as the answer declares them, None where it does not.
    """

    length: int | None

    def __init__(self, connection: ssl.SSLSocket, target: Target, deadline: Deadline) -> None:
        """Asks, and reads the answer's head.

        Raises:
            Denied: it is a redirect.
            Failed: there is none, or another than 200, or one that is compressed.
        """
        self._connection = connection
        self._deadline = deadline
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEADER_BYTES)
        with explained():
            self._send(target)
            event = self._next()
            while isinstance(event, h11.InformationalResponse):
                event = self._next()
        if not isinstance(event, h11.Response):
            raise Failed("its host's answer is no HTTP")
        self.length = _length(event)

    def __iter__(self) -> Iterator[bytes]:
        with explained():
            while isinstance(event := self._next(), h11.Data):
                yield bytes(event.data)

    def _send(self, target: Target) -> None:
        headers = [
            ("Host", target.authority),
            ("User-Agent", "tokencount"),
            ("Accept", "image/png, image/jpeg, image/webp, image/gif"),
            ("Accept-Encoding", "identity"),
            ("Connection", "close"),
        ]
        request = h11.Request(method="GET", target=target.resource, headers=headers)
        self._connection.settimeout(self._deadline.left())
        self._connection.sendall((self._http.send(request) or b"") + (self._http.send(h11.EndOfMessage()) or b""))

    def _next(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._connection.settimeout(self._deadline.left())
            self._http.receive_data(self._connection.recv(_READ_BYTES))
        # One read may hold very many small pieces.
        self._deadline.left()
        return event


@contextmanager
def explained() -> Iterator[None]:
    """Whatever goes wrong on the way as a reason that tells nothing of what is there. Raises Failed."""
    try:
        yield
    except TimeoutError as error:
        raise Failed("it did not come in time") from error
    except ssl.SSLCertVerificationError as error:
        raise Failed("its host has no trusted certificate for its name") from error
    except ssl.SSLError as error:
        raise Failed("no TLS connection to its host is possible") from error
    except OSError as error:
        raise Failed("its host cannot be reached") from error
    except h11.RemoteProtocolError as error:
        raise Failed("its host's answer is broken or no HTTP") from error


def _length(response: h11.Response) -> int | None:
    """The declared length of a response that can be taken."""
    headers = dict(response.headers)
    if response.http_version not in {b"1.0", b"1.1"}:
        raise Failed("its host's answer is broken or no HTTP")
    if 300 <= response.status_code < 400:
        raise Denied("its host redirects elsewhere, and no redirect is followed")
    if response.status_code != 200:
        raise Failed(f"its host answered with status {response.status_code}")
    if headers.get(b"content-encoding", b"identity").strip().lower() not in {b"", b"identity"}:
        raise Failed("its host sent it compressed, which was not asked for")
    if b"transfer-encoding" in headers or b"content-length" not in headers:
        return None
    return int(headers[b"content-length"])
