"""From end to end through the local stack: what a client waits for, and what of it is spent where."""

import random
import statistics
import time

import urllib3

from bench.counters import Ours
from bench.counting import LENGTHS, requests
from bench.machine import described
from bench.options import Options, models
from bench.peak import Process
from bench.report import table
from bench.samples import Spread
from local.stack import Stack
from tokencount.domain.timing import read_server_timing

TITLE = "End to end"
MODEL = "qwen3.5-9b"
WARMING = 60
# Seconds: beside the first answers the local stack loads the fast engine.
LOADING = 6
PARTS = ("client and gateway", "edge", "edge_auth", "invoke and answer", "parse", "render", "encode")
Timing = dict[str, float]


def section(options: Options) -> str:
    """The tables of the document."""
    ours = Ours.restored(models()[MODEL])
    bodies = {length: requests(ours, length, options.rounds) for length in LENGTHS}
    with Stack() as stack:
        client = Client(stack)
        for _ in range(WARMING):
            client.ask(bodies[LENGTHS[0]][0])
        time.sleep(LOADING)
        timings: dict[int, list[Timing]] = {length: [] for length in LENGTHS}
        for turn in range(options.rounds):
            for length in random.Random(turn).sample(LENGTHS, len(LENGTHS)):  # noqa: S311 - an order, no secret
                timings[length].append(client.ask(bodies[length][turn]))
        memory = [[name, *held(pool.pids)] for name, pool in stack.pools.items()]
    rows = [row(length, each) for length, each in timings.items()]
    return f"""
{described("uvicorn", "moto", "botocore", "fastapi", "tokenizers", "fastokens")}
`make bench`: requests for {MODEL} of new text over HTTP to the local stack, one at a time, {options.rounds} of each
length in turn after {WARMING} others; each part of the time in ms and as its share. All AWS services but Lambda are
moto's, in Python on the same machine: what the edge and its credential's look-up take is for the most part theirs.

{table(["tokens", "all, ms", *PARTS], rows)}

Memory of the functions' processes after that; only this model's counter was asked:

{table(["function", "processes", "now, MB each", "most, MB each"], memory)}
"""


class Client:
    """Asks a stack, over one connection."""

    def __init__(self, stack: Stack) -> None:
        self._http = urllib3.PoolManager()
        self._url = f"{stack.url}/v1/infer/v1/messages/count_tokens"
        self._headers = {"authorization": f"Bearer {stack.api_key}", "content-type": "application/json"}

    def ask(self, body: bytes) -> Timing:
        """Milliseconds of the whole and of each part."""
        started = time.perf_counter()
        answer = self._http.request("POST", self._url, body=body, headers=self._headers, timeout=60)
        whole = 1000 * (time.perf_counter() - started)
        assert answer.status == 200, answer.data
        return parts(whole, read_server_timing(answer.headers["server-timing"]))


def parts(whole: float, phases: Timing) -> Timing:
    """What lies within another part is taken from it, so that the parts add up to the whole."""
    inner = {name: phases.get(name, 0.0) for name in ("parse", "render", "encode")}
    upstream = phases["edge_upstream"]
    return inner | {
        "all": whole,
        "client and gateway": whole - phases["total"],
        "edge": phases["total"] - upstream - phases["edge_auth"],
        "edge_auth": phases["edge_auth"],
        "invoke and answer": upstream - sum(inner.values()),
    }


def row(length: int, timings: list[Timing]) -> list[str]:
    """The medians of one length."""
    shown = [str(length), Spread.of([each["all"] for each in timings]).show(1)]
    for part in PARTS:
        share = statistics.median(each[part] / each["all"] for each in timings)
        shown.append(f"{statistics.median(each[part] for each in timings):.1f} ({share:.0%})")
    return shown


def held(pids: list[int]) -> list[str]:
    """How many processes, and the largest's memory."""
    processes = [Process(pid) for pid in pids]
    now, peak = max(each.now for each in processes), max(each.peak for each in processes)
    return [str(len(pids)), f"{now:.0f}", f"{peak:.0f}"]
