"""Load at several rates, then for many minutes at one that is kept up with: what clients wait for, and the memory.

    python -m bench.load 5 10 20 [--soak 10] [--write docs/benchmarks.md]

The requests come from a process of their own, to a stack of their own, or with --url and KEY in the environment to a
service that runs.
"""

import argparse
import asyncio
import multiprocessing
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import urllib3

from bench import load_report
from bench.arrivals import Sent, Target, poisson, send
from bench.load_report import Step
from bench.memory import Watch, children
from bench.mix import Mix, Model
from bench.report import replace_section
from bench.service import restored
from local.errors import StackError
from local.stack import Stack
from tests.support.dynamodb_local import dynamodb_local

Run = Callable[[float, float], list[Sent]]


def main() -> None:
    """Send, print, and write where told."""
    parser = argparse.ArgumentParser(prog="python -m bench.load")
    parser.add_argument("rates", type=float, nargs="+", help="requests a second, each for a while")
    parser.add_argument("--seconds", type=float, default=30, help="how long each rate lasts (default: 30)")
    parser.add_argument("--soak", type=float, default=10, help="minutes at the end; 0 for none (default: 10)")
    parser.add_argument("--models", nargs="*", help="ids of those that are asked, or what they end with (default: all)")
    parser.add_argument("--url", help="a service that runs, for the API key in KEY")
    parser.add_argument("--write", type=Path, help="document whose section is replaced")
    given = parser.parse_args()
    try:
        with service(given.url) as (target, watch), sender(target, served(target, given.models)) as run:
            steps = list(measured(run, watch, given.rates, given.seconds, 60 * given.soak))
    except (StackError, urllib3.exceptions.HTTPError, pytest.skip.Exception, pytest.fail.Exception) as error:
        sys.exit(f"make load: {error}")
    text = load_report.section(steps, watch, bool(given.soak))
    print(text)
    if given.write:
        given.write.write_text(replace_section(given.write.read_text("utf-8"), load_report.TITLE, text), "utf-8")


def measured(run: Run, watch: Watch, rates: Sequence[float], seconds: float, soak: float) -> Iterator[Step]:
    """A step of each rate, the soak for the last: half of the highest that was kept up with, or of the lowest."""

    def step(rate: float, lasting: float) -> Step:
        start = watch.now
        sent = run(rate, lasting)
        print(f"{len(sent)} requests at {rate:g} a second", file=sys.stderr, flush=True)
        return Step(rate, lasting, sent, start, watch.now)

    # Not shown: as many processes start as the highest rate wants.
    step(max(rates), seconds)
    steps = [step(rate, seconds) for rate in rates]
    yield from steps
    if soak:
        yield step(max((each.rate for each in steps if each.kept_up), default=min(rates)) / 2, soak)


@contextmanager
def sender(target: Target, models: list[Model]) -> Iterator[Run]:
    """Sends at a rate for so many seconds, from a process that does nothing else."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        seeds = iter(range(sys.maxsize))
        yield lambda rate, seconds: process.submit(send_mix, target, models, rate, seconds, next(seeds)).result()


def send_mix(target: Target, models: list[Model], rate: float, seconds: float, seed: int) -> list[Sent]:
    """The mix of requests, as they come."""
    dice = random.Random(seed)  # noqa: S311 - no secret
    return asyncio.run(send(target, poisson(rate, seconds, dice), iter(Mix(models, dice))))


def served(target: Target, wanted: Sequence[str] | None) -> list[Model]:
    """The models to ask."""
    headers = {"authorization": f"Bearer {target.key}"}
    answer = urllib3.request("GET", f"{target.url}/v1/infer/models", headers=headers, timeout=30)
    if answer.status != 200:
        sys.exit(f"make load: {target.url} answers {answer.status} when it is asked for its models")
    models = [Model(model["id"], model["vision"]) for model in answer.json()["data"]]
    chosen = [model for model in models if not wanted or model.id.endswith(tuple(wanted))]
    return chosen or sys.exit(f"make load: {target.url} does not serve {' or '.join(wanted or ['a model'])}")


@contextmanager
def service(url: str | None) -> Iterator[tuple[Target, Watch]]:
    """The service, and a watch over its processes, where they are ours."""
    if url:
        if not (key := os.environ.get("KEY")):
            sys.exit("make load: an API key for the service at URL is wanted in KEY")
        with Watch(dict) as watch:
            yield Target(url.rstrip("/"), key), watch
        return
    with (
        TemporaryDirectory() as name,
        dynamodb_local(folder := Path(name)) as engine,
        restored(engine, folder) as stack,
        Watch(lambda: processes(stack)) as watch,
    ):
        yield Target(stack.url, stack.api_key), watch


def processes(stack: Stack) -> Mapping[str, Sequence[int]]:
    """The stack's own, by kind; then those of what stands in for AWS, which keeps every record."""
    functions = {pool.function.environment["POWERTOOLS_SERVICE_NAME"]: pool.pids for pool in list(stack.pools.values())}
    return functions | {
        load_report.GATEWAY: [os.getpid()],
        load_report.STAND_INS[0]: children("DynamoDBLocal"),
        load_report.STAND_INS[1]: children("moto_process"),
    }


if __name__ == "__main__":
    main()
