"""What a million requests cost: what some of them take of the local stack, by AWS's prices.

python -m bench.cost [--rounds 30] [--write docs/operations.md]
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
import urllib3

from bench import cost_report
from bench.arrivals import COUNT_PATH
from bench.consumed import Units, metered, processor_seconds
from bench.cost_report import Measured
from bench.mix import AGENT
from bench.peak import Process
from bench.photos import photo, request
from bench.prices import Memory, Taken
from bench.report import replace_section
from bench.service import restored
from bench.texts import agent, body, short
from local.errors import StackError
from local.stack import Stack
from tests.support.dynamodb_local import dynamodb_local

MODEL = "b3os/qwen3.5-9b"
IMAGES = 8
# Characters of some 120,000 of its tokens.
LONG = 460_000
WARMING = 40
# CloudWatch adds this to each line; Lambda writes two of its own for each invocation, platform.start and
# platform.report, of about so many bytes.
LINE_BYTES, PLATFORM_BYTES = 26, 650
# What API Gateway puts in the place of a variable of its access log is about as long.
VARIABLE_BYTES = 24


def main() -> None:
    """Measure, print, and write where told."""
    parser = argparse.ArgumentParser(prog="python -m bench.cost")
    parser.add_argument("--rounds", type=int, default=30, help="requests of each kind (default: 30)")
    parser.add_argument("--write", type=Path, help="document whose section is replaced")
    given = parser.parse_args()
    try:
        text = cost_report.section(measured(given.rounds))
    except (StackError, pytest.skip.Exception, pytest.fail.Exception) as error:
        sys.exit(f"make cost: {error}")
    print(text)
    if given.write:
        given.write.write_text(replace_section(given.write.read_text("utf-8"), cost_report.TITLE, text), "utf-8")


def measured(rounds: int) -> Measured:
    """What requests of each kind take of a stack that has nothing else to do."""
    with (
        TemporaryDirectory() as name,
        dynamodb_local(folder := Path(name)) as engine,
        metered(engine) as (url, units),
        restored(url, folder) as stack,
    ):
        bench = Bench(stack, units, folder / "logs")
        reads = bench.reads_of_the_first()
        for _ in range(WARMING):
            bench.ask(body(MODEL, short(Random(0))))  # noqa: S311 - no secret
        taken = {kind: bench.taken(make, rounds, reads) for kind, make in kinds().items()}
        functions = stack.template.functions
        edge, counter = functions[bench.edge], functions[bench.counter]
        return Measured(
            taken,
            Memory(edge.memory, counter.memory),
            {name: max(Process(pid).peak for pid in stack.pools[name].pids) for name in (edge.name, counter.name)},
            {function.name: function.memory for function in functions.values()},
            len(list(stack.template.resources("AWS::CloudWatch::Alarm"))),
            len(metrics(folder / "logs")),
        )


def kinds() -> dict[str, Callable[[Random], bytes]]:
    """How each kind of request is made."""
    photos = [photo(seed) for seed in range(IMAGES)]
    return {
        "short": lambda dice: body(MODEL, short(dice)),
        "8k": lambda dice: body(MODEL, agent(dice, AGENT)),
        "120k": lambda dice: body(MODEL, agent(dice, LONG)),
        f"{IMAGES} images": lambda dice: request(MODEL, dice.sample(photos, IMAGES)),
    }


@dataclass(slots=True)
class Bench:
    """Asks a stack, one request at a time, and sees what that took."""

    stack: Stack
    units: Units
    logs: Path
    edge: str = "EdgeFunction"

    @property
    def counter(self) -> str:
        """The function of the model that is asked."""
        counters = json.loads(self.stack.template.functions[self.edge].environment["COUNTERS"])
        return str(counters[MODEL]).partition(":")[0]

    def ask(self, text: bytes) -> int:
        """Bytes of the answer, its headers' among them."""
        headers = {"authorization": f"Bearer {self.stack.api_key}", "content-type": "application/json"}
        answer = urllib3.request("POST", self.stack.url + COUNT_PATH, body=text, headers=headers, timeout=60)
        assert answer.status == 200, answer.data
        return len(answer.data) + sum(len(name) + len(value) + 4 for name, value in answer.headers.items())

    def reads_of_the_first(self) -> float:
        """Units of what an edge remembers for a minute."""
        self.units.take()
        self.ask(body(MODEL, short(Random(0))))  # noqa: S311 - no secret
        return self.units.take()["reads"]

    def taken(self, make: Callable[[Random], bytes], rounds: int, reads: float) -> Taken:
        """The averages of so many requests."""
        bodies = [make(Random(seed)) for seed in range(rounds)]  # noqa: S311 - no secret
        self.units.take()
        before = self._clock()
        out = sum(self.ask(each) for each in bodies)
        edge, counter, log = (after - earlier for after, earlier in zip(self._clock(), before, strict=True))
        units = self.units.take()
        return Taken(
            edge_ms=1000 * edge / rounds,
            counter_ms=1000 * counter / rounds,
            calls=units["calls"] / rounds,
            reads=reads,
            writes=units["writes"] / rounds,
            record=units["put"] / rounds,
            log=log / rounds + 2 * PLATFORM_BYTES + 4 * LINE_BYTES + self._access_log(),
            out=out / rounds,
        )

    def _clock(self) -> tuple[float, float, float]:
        """Processor seconds of the edge and of the counter, and bytes of their logs as CloudWatch counts them."""
        pools = [self.stack.pools[name] for name in (self.edge, self.counter)]
        edge, counter = (processor_seconds(pool.pids) for pool in pools)
        logs = [(self.logs / f"{pool.function.name}.log").read_bytes() for pool in pools]
        return edge, counter, sum(len(log) + LINE_BYTES * log.count(b"\n") for log in logs)

    def _access_log(self) -> int:
        line = str(self.stack.template.api["AccessLogSetting"]["Format"])
        return len(re.sub(r"\$context\.[\w.]+", "x" * VARIABLE_BYTES, line)) + LINE_BYTES


def metrics(logs: Path) -> set[str]:
    """Every metric that the functions' lines told CloudWatch to keep, with the values of its dimensions."""
    return {metric for log in logs.glob("*.log") for metric in _metrics(log.read_text("utf-8").splitlines())}


def _metrics(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        told = json.loads(line) if line.startswith("{") and '"_aws"' in line else {}
        for directive in told.get("_aws", {}).get("CloudWatchMetrics", []):
            for names in directive["Dimensions"]:
                values = [f"{name}={told[name]}" for name in names]
                yield from (" ".join([directive["Namespace"], each["Name"], *values]) for each in directive["Metrics"])


if __name__ == "__main__":
    main()
