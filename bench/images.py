"""Requests with images: how long the function, the endpoint and transformers' processor take, and how much memory.

Every way gives the same number, or there are no figures. The endpoint runs in a process of its own, on the CPU.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import urllib3

from bench.machine import described
from bench.options import LAYERS, Options
from bench.peak import Process
from bench.photos import SIZE, photo, request
from bench.report import table
from bench.samples import Spread, interleaved, ratios
from bench.ways import Container, Function, Naive, Way
from local.stack import CONTAINER, Stack

MODEL = "b3os/qwen3.5-9b"
LAYER = LAYERS / "qwen3.5-9b" / "model"
NUMBERS = (1, 8, 40)
LARGE = 4_500_000
PACKAGES = ("transformers", "torch", "tokenizers", "pillow", "numpy")
TITLE = "Images"


def section(options: Options) -> str:
    """The tables of the document."""
    photos = [photo(seed) for seed in range(max(NUMBERS))]
    with Stack() as stack:
        memory = [used(stack, "function", photos)]
    with Stack(endpoint=CONTAINER) as stack:
        memory.append(used(stack, "endpoint", photos))
        [endpoint] = stack.endpoints.values()
        times = list(timed(endpoint.url, photos, options.few))
    return report(times, memory, options.few)


def timed(url: str, photos: list[bytes], rounds: int) -> Iterator[list[str]]:
    """A row for each way with each number of images."""
    with closing(Function(LAYER)) as function:
        ways: dict[str, Way] = {"function": function, "endpoint": Container(url), "transformers": Naive(LAYER)}
        for number in NUMBERS:
            body = request(MODEL, photos[:number])
            tokens = {name: way.count(body) for name, way in ways.items()}
            assert len(set(tokens.values())) == 1, tokens
            seconds = interleaved({name: partial(way.count, body) for name, way in ways.items()}, rounds)
            for name, taken in seconds.items():
                latency, speed = (
                    Spread.of([1000 * each for each in taken]),
                    Spread.of([number / each for each in taken]),
                )
                faster = ratios(seconds, name, "transformers")
                yield [str(number), name, latency.show(1), speed.show(0), faster.show(1)]


def used(stack: Stack, route: str, photos: list[bytes]) -> list[str]:
    """A row: what the counter's process holds while it loads, before large requests, and at most while they pass."""
    body = request(MODEL, (photos * 2)[: LARGE // len(request(MODEL, photos[:1]))])
    counters = json.loads(stack.template.functions["EdgeFunction"].environment["COUNTERS"])
    pool = stack.pools[counters[MODEL].partition(":")[0]]
    for small in (photos[:1], [photos[0]] * 8):
        ask(stack, request(MODEL, small))
    [pid] = pool.pids
    counter = Process(pid)
    start, before = counter.peak, counter.now
    counter.forget()
    for _ in range(5):
        assert ask(stack, body) == route
    return [route, f"{len(body) / 1e6:.2f}", f"{start:.0f}", f"{before:.0f}", f"{counter.peak:.0f}"]


def ask(stack: Stack, body: bytes) -> str:
    """By which route a request was counted."""
    headers = {"authorization": f"Bearer {stack.api_key}", "content-type": "application/json"}
    url = f"{stack.url}/v1/infer/v1/messages/count_tokens"
    answer = urllib3.request("POST", url, body=body, headers=headers, timeout=60)
    assert answer.status == 200, answer.data
    record = urllib3.request("GET", f"{stack.url}/v1/requests/{answer.headers['request-id']}", headers=headers)
    return str(record.json()["route"])


def report(times: list[list[str]], memory: list[list[str]], rounds: int) -> str:
    """The section of the document."""
    return f"""
{described(*PACKAGES)}
`make bench`: each request counted {rounds} times in each way, in turn; medians, with what the middle half lies
between. Images are JPEGs of {SIZE[0]}x{SIZE[1]} pixels; one request at a time, from its JSON text to the number, the
same in all three ways:

- function: the counter's handler, from the edge's event to its answer; images are measured by their headers.
- endpoint: the container on this machine's processors, over HTTP; images are decoded and preprocessed, several at once.
- transformers: its processor as the documentation calls it, all images in one call, their pixel values in the result.

{table(["images", "counted by", "latency, ms", "images a second", "times as fast as transformers"], times)}

Memory of the counter's process in the local stack while five such requests of some {LARGE / 1e6:.1f} MB pass, by route:

{table(["route", "request, MB", "most at the start, MB", "before, MB", "most meanwhile, MB"], memory)}
"""
