"""Sends what no usual client would, one request at a time, and keeps the figures."""

import http.client
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.fuzz.contract import COUNT_PATH, Answer, Contract

SECONDS = 30  # more than the gateway waits for a function: an answer that is not there by then is a hang
_IDLE_SECONDS = 2  # servers end a connection that is not used

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it goes over the wire. Where `headers` name no credential, the good one is sent along."""

    body: bytes | None = None
    headers: Headers = (("content-type", "application/json"),)
    method: str = "POST"
    target: str = COUNT_PATH


@dataclass(slots=True)
class Figures:
    """What came of the requests so far."""

    answers: Counter[tuple[int, str]] = field(default_factory=Counter)
    slowest: float = 0.0
    slowest_request: str = ""
    started: float = field(default_factory=time.perf_counter)

    @property
    def requests(self) -> int:
        """How many were answered."""
        return self.answers.total()

    def add(self, request: str, status: int, code: str, seconds: float) -> None:
        """One more answer."""
        self.answers[status, code] += 1
        if seconds > self.slowest:
            self.slowest, self.slowest_request = seconds, request

    def __str__(self) -> str:
        rows = [f"{status} {code:24} {number:7,}" for (status, code), number in sorted(self.answers.items())]
        elapsed = time.perf_counter() - self.started
        return "\n".join(
            [
                *rows,
                f"{'together':28} {self.requests:7,}  in {elapsed:.0f} s",
                f"slowest {self.slowest:.2f} s: {self.slowest_request}",
            ]
        )


class Broken(AssertionError):
    """An answer out of the contract, or none."""


class Client:
    """A connection to the service.

    Args:
        secret: a credential that may do everything.
    """

    def __init__(self, url: str, secret: str, contract: Contract, figures: Figures) -> None:
        self._netloc = urlsplit(url).netloc
        self._secret = secret
        self._contract = contract
        self._figures = figures
        self._connection = self._connect()
        self._used = time.monotonic()

    def send(self, request: Request) -> Answer:
        """The answer, once it is known to keep the contract.

        Raises:
            Broken: it does not, or there is none in time.
        """
        shown = f"{request.method} {request.target[:200]} {len(request.body or b'')} bytes"
        try:
            answer = self._exchange(request)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            self._connection = self._connect()
            raise Broken(f"{shown}: no answer ({error!r})") from error
        self._figures.add(shown, answer.status, answer.code, answer.seconds)
        if faults := self._contract.faults(request.method, request.target, answer):
            raise Broken(f"{shown}: {'; '.join(faults)}\n{answer.status} {answer.headers}\n{answer.body[:1000]!r}")
        return answer

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _exchange(self, request: Request) -> Answer:
        if time.monotonic() - self._used > _IDLE_SECONDS:
            self.close()  # the next request opens it again
        started = time.perf_counter()
        self._connection.putrequest(request.method, request.target, skip_accept_encoding=True)
        names = {name.lower() for name, _ in request.headers}
        headers = [*request.headers]
        if not names & {"authorization", "x-api-key", "cookie"}:
            headers.append(("authorization", f"Bearer {self._secret}"))
        if request.body is not None and not names & {"content-length", "transfer-encoding"}:
            headers.append(("content-length", str(len(request.body))))
        for name, value in headers:
            self._connection.putheader(name, value.encode("latin-1"))
        self._connection.endheaders(request.body, encode_chunked="transfer-encoding" in names)
        response = self._connection.getresponse()
        body = response.read()
        self._used = time.monotonic()
        known = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, known, body, time.perf_counter() - started)

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._netloc, timeout=SECONDS)
