"""Open-loop load: every request is sent when it is due, whether or not those before it were answered.

A client that waits for an answer before it sends the next request sends none while the server stalls, and so leaves out
the very latencies that are bad (coordinated omission). Here the times are drawn before, and a latency counts from when
its request was due. The load generators that PyPI has (locust and its like) are users who wait for their answers.
"""

import asyncio
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import httpx2

COUNT_PATH = "/v1/infer/v1/messages/count_tokens"
# More than the gateway's 29 seconds.
TIMEOUT = 60
# Below what servers keep a connection for: one that is closed as it is used again would be an error of the client's.
KEPT_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Target:
    """A running service and an API key for it."""

    url: str
    key: str


@dataclass(frozen=True, slots=True)
class Request:
    """What kind of request it is, and its JSON text."""

    kind: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a request.

    Args:
        due: when it was to be sent, in seconds from the start.
        late: seconds after that until it was.
        latency: seconds from when it was due to the end of its answer.
        outcome: "200", or a status and its code ("429 rate_limited"), or why there is no answer ("ReadTimeout").
        tokens: what was counted.
    """

    kind: str
    bytes: int
    due: float
    late: float
    latency: float
    outcome: str
    tokens: int | None


def poisson(rate: float, seconds: float, dice: random.Random) -> list[float]:
    """When requests are due that come independently of each other, `rate` a second, in seconds from the start."""
    times, at = [], dice.expovariate(rate)
    while at < seconds:
        times.append(at)
        at += dice.expovariate(rate)
    return times


async def send(target: Target, schedule: Sequence[float], requests: Iterator[Request]) -> list[Sent]:
    """Sends a request at each of these times; ends with the last answer."""
    limits = httpx2.Limits(max_connections=None, keepalive_expiry=KEPT_SECONDS)
    headers = {"authorization": f"Bearer {target.key}", "content-type": "application/json"}
    async with httpx2.AsyncClient(
        base_url=target.url, headers=headers, limits=limits, timeout=TIMEOUT, trust_env=False
    ) as client:
        started, tasks = time.perf_counter(), []
        for due in schedule:
            # Made before its time has come.
            request = next(requests)
            await asyncio.sleep(started + due - time.perf_counter())
            tasks.append(asyncio.create_task(_send(client, request, due, started)))
        return await asyncio.gather(*tasks)


async def _send(client: httpx2.AsyncClient, request: Request, due: float, started: float) -> Sent:
    late = time.perf_counter() - started - due
    outcome, tokens = await _ask(client, request)
    latency = time.perf_counter() - started - due
    return Sent(request.kind, len(request.body), due, late, latency, outcome, tokens)


async def _ask(client: httpx2.AsyncClient, request: Request) -> tuple[str, int | None]:
    try:
        answer = await client.post(COUNT_PATH, content=request.body)
        told = answer.json()
    except httpx2.TransportError as error:
        return type(error).__name__, None
    except json.JSONDecodeError:
        return f"{answer.status_code} without JSON", None
    if answer.status_code == 200:
        return "200", int(told["input_tokens"])
    code = (told.get("b3os") or told.get("error") or {}).get("code")
    return f"{answer.status_code} {code}", None


def percentile(values: Sequence[float], percent: float) -> float:
    """The least of the values that so many percent do not exceed (nearest rank): one of them, nothing in between."""
    return sorted(values)[max(0, math.ceil(percent / 100 * len(values)) - 1)]
