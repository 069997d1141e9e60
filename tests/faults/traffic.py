"""Requests that flow while something is broken: three clients that count, one that reads, each without a pause."""

import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice
from typing import Literal

import urllib3

from docs.openapi.document import document
from tests.faults.stand import Stand
from tests.fuzz.contract import COUNT_PATH, Answer, Contract
from tests.support.requests import EXAMPLE, Json, image, picture, request, text, user

# More than the gateway waits for a function: an answer that is not there by then is a hang.
SECONDS = 30
LLAMA = "b3os/llama-3.1-8b-instruct"
HEAVY = request(user(text("hi"), *(image(picture(50, 20 + side)) for side in range(8))))
BODIES = {
    "light": EXAMPLE,
    "newcomer": EXAMPLE,  # with a key that no function has seen
    "other model": EXAMPLE | {"model": LLAMA},
    "heavy": HEAVY,
}
COUNTING, READING = ("light", "newcomer", "other model", "long", "heavy"), ("record", "list", "models")
CLIENTS = (COUNTING, COUNTING, COUNTING, READING)
# Ids of the service's own; the gateway's answers have other ones.
OURS = re.compile(r"req_[0-9a-hjkmnp-tv-z]{26}")
When = Literal["before", "during", "after"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a client saw of one request.

    Args:
        faults: what of the answer the contract does not allow.
        stranger: the caller could not be looked up.
    """

    kind: str
    started: float
    ended: float
    status: int
    code: str
    request_id: str
    faults: Sequence[str]
    stranger: bool = False

    @property
    def good(self) -> bool:
        """Whether it was as if nothing were broken."""
        return self.status == 200

    @property
    def told(self) -> str:
        """Status and code, as a table shows them."""
        return f"{self.status} `{self.code}`" if self.code else str(self.status)


class Traffic:
    """The clients' requests and what came of them."""

    def __init__(self, stand: Stand) -> None:
        self.outcomes: list[Outcome] = []
        self.broke = self.mended = float("inf")
        self._stand = stand
        self._http = urllib3.PoolManager(maxsize=len(CLIENTS), retries=False, timeout=SECONDS)
        self._stopped = threading.Event()
        self._known = self._ask("light").request_id

    @contextmanager
    def flowing(self) -> Iterator[None]:
        """Requests are sent during the block; afterwards all of them are answered."""
        threads = [threading.Thread(target=self._send, args=(client,), daemon=True) for client in range(len(CLIENTS))]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            for thread in threads:
                thread.join()

    def when(self, outcome: Outcome) -> When:
        """Whether the fault met the request."""
        if outcome.ended < self.broke:
            return "before"
        return "after" if outcome.started > self.mended else "during"

    def seen(self, when: When) -> Counter[str]:
        """The answers of a time, as a table shows them."""
        return Counter(outcome.told for outcome in self.outcomes if self.when(outcome) == when)

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        """Whether it came true in time."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and not until():
            time.sleep(0.05)
        return until()

    def all_good_since(self, moment: float | None) -> bool:
        """Whether every kind of request that was sent since then, and since the fault is over, was answered well."""
        since = max(moment or 0.0, self.mended if self.mended < float("inf") else 0.0)
        return {each.kind for each in self.outcomes if each.started > since and each.good} == {*COUNTING, *READING}

    def last_failure(self) -> float | None:
        """When the last request that failed had been sent; None where every one was good."""
        return max((each.started for each in self.outcomes if not each.good), default=None)

    def _send(self, client: int) -> None:
        kinds = CLIENTS[client]
        for kind in islice(cycle(kinds), 2 * client, None):  # each begins elsewhere
            if self._stopped.is_set():
                return
            self.outcomes.append(self._ask(kind))
            time.sleep(0.02)

    def _ask(self, kind: str) -> Outcome:
        method, target = ("GET", self._path(kind)) if kind in READING else ("POST", COUNT_PATH)
        key = self._stand.new_key() if kind == "newcomer" else self._stand.key
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        started = time.monotonic()
        try:
            reply = self._http.request(method, self._stand.stack.url + target, body=_body(kind), headers=headers)
        except urllib3.exceptions.HTTPError as error:
            return Outcome(kind, started, time.monotonic(), 0, "", "", [f"no answer: {error!r}"])
        ended = time.monotonic()
        known = {name.lower(): value for name, value in reply.headers.items()}
        answer = Answer(reply.status, known, reply.data, ended - started)
        request_id = known.get("request-id", "")
        if not OURS.fullmatch(request_id):  # the gateway has one form for all routes
            method, target = "POST", COUNT_PATH
        faults = _contract().faults_of_form(method, target, answer)
        if answer.status in (429, 503) and not known.get("retry-after", "").isdecimal():
            faults.append("no Retry-After")
        stranger = b"Credentials cannot be read" in answer.body
        return Outcome(kind, started, ended, answer.status, answer.code, request_id, faults, stranger)

    def _path(self, kind: str) -> str:
        """The record that is read is one of before the fault."""
        paths = {"record": f"/v1/requests/{self._known}", "list": "/v1/requests", "models": "/v1/infer/models"}
        return paths[kind]


def _body(kind: str) -> bytes | None:
    if kind in READING:
        return None
    return json.dumps(BODIES.get(kind) or _long()).encode()


def _long() -> Json:
    """Some 100 KB, no piece of which was counted before."""
    start = random.getrandbits(32)
    return request(user(" ".join(f"Word {start + number}." for number in range(6_000))))


@cache
def _contract() -> Contract:
    return Contract(document())
