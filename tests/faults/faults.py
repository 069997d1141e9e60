"""Every fault: how it is brought about, and what clients may see of it."""

import json
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from local import aws
from tests.faults.stand import COUNTER, EDGE, Stand
from tests.support.environments import unavailable

NODE = "503 `node_unavailable`"
FULL = "429 `concurrency_limited`"
# The gateway's own, to a function that failed.
INTERNAL = "500 `internal`"
Breaks = Callable[[Stand], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault.

    Args:
        seen: what clients see beside what they always see, for certain.
        allowed: what they may see as well.
        spared: kinds of requests that it does not touch.
        stops: a function stands still; the fault lasts until every function would have run out of its time.
        seconds: how long it lasts otherwise, in the short form.
    """

    name: str
    breaks: Breaks
    seen: AbstractSet[str] = frozenset()
    allowed: AbstractSet[str] = frozenset()
    spared: AbstractSet[str] = frozenset()
    stops: bool = False
    seconds: float = 0.7


def _all(*breaks: Breaks) -> Breaks:
    """Several at the same time."""

    @contextmanager
    def together(stand: Stand) -> Iterator[None]:
        with ExitStack() as stack:
            for each in breaks:
                stack.enter_context(each(stand))
            yield

    return together


def _refuses(service: str) -> Breaks:
    return lambda stand: stand.proxies[service].refusing()


def _hangs(service: str) -> Breaks:
    return lambda stand: stand.proxies[service].hanging()


def _slow(service: str, seconds: float) -> Breaks:
    return lambda stand: stand.proxies[service].slow(seconds)


def _killed(function: str) -> Breaks:
    """Its workers, again and again: some of them in the middle of a request."""
    return _again_and_again(lambda stand: stand.signal(function, signal.SIGKILL), 0.4)


def _frozen(function: str) -> Breaks:
    """The workers that there are; others are started beside them."""

    @contextmanager
    def frozen(stand: Stand) -> Iterator[None]:
        stand.signal(function, signal.SIGSTOP)
        try:
            yield
        finally:
            stand.signal(function, signal.SIGCONT)

    return frozen


def _starved(function: str) -> Breaks:
    """All its workers get two thousandths of a processor, so that what they do takes longer than they have."""

    def let_run(stand: Stand) -> None:
        stand.signal(function, signal.SIGCONT)
        time.sleep(0.002)
        stand.signal(function, signal.SIGSTOP)

    @contextmanager
    def starved(stand: Stand) -> Iterator[None]:
        with _again_and_again(let_run, 1.0)(stand):
            yield
        stand.signal(function, signal.SIGCONT)

    return starved


def _again_and_again(harm: Callable[[Stand], None], pause: float) -> Breaks:
    @contextmanager
    def harmed(stand: Stand) -> Iterator[None]:
        over = threading.Event()

        def go_on() -> None:
            while not over.is_set():
                harm(stand)
                over.wait(pause)

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    return harmed


def _limited(function: str, kind: int) -> Breaks:
    """Its workers of the moment get no more of something than they have."""

    @contextmanager
    def limited(stand: Stand) -> Iterator[None]:
        if not hasattr(resource, "prlimit"):
            unavailable("this system sets no limits of a process that runs: that needs Linux")
        pids = stand.pids(function)
        before = {pid: resource.prlimit(pid, kind) for pid in pids}
        for pid, (_, hard) in before.items():
            resource.prlimit(pid, kind, (0, hard))
        try:
            yield
        finally:
            for pid in set(pids) & set(stand.pids(function)):
                resource.prlimit(pid, kind, before[pid])

    return limited


def _endpoint(fault: str) -> Breaks:
    @contextmanager
    def broken(stand: Stand) -> Iterator[None]:
        stand.endpoint.fault = fault  # type: ignore[assignment]
        try:
            yield
        finally:
            stand.endpoint.fault = None

    return broken


@contextmanager
def _endpoint_hangs(stand: Stand) -> Iterator[None]:
    """Its container is frozen."""
    pid = stand.endpoint.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def _rotation(stand: Stand) -> Iterator[None]:
    """The keys are changed in one step while nobody can read them, and the edges think that theirs are old."""
    vault = aws.session().client("secretsmanager", endpoint_url=stand.stack.aws_url, config=aws.DIRECT)
    stand.set_clocks(dict.fromkeys(stand.pids(EDGE), 90))
    with stand.proxies["SECRETS_MANAGER"].refusing():
        [name] = stand.stack.template.secrets
        new = str(time.time_ns())
        vault.put_secret_value(SecretId=name, SecretString=json.dumps({"current": new, new: new * 4}))
        yield
    stand.set_clocks({})


@contextmanager
def _skew(stand: Stand) -> Iterator[None]:
    """Every second edge is five seconds ahead, the others five behind."""
    stand.set_clocks({pid: 5 if place % 2 else -5 for place, pid in enumerate(stand.pids(EDGE))})
    yield
    stand.set_clocks({})


def _missing(_file: Path) -> None:
    """Nothing is put in its place."""


def _cut_off(file: Path) -> None:
    file.write_text('{"version": "1.0", "truncation"')


def _layer(harm: Callable[[Path], None]) -> Breaks:
    """A file of the model's layer is harmed, and the workers that had read it are gone."""

    @contextmanager
    def harmed(stand: Stand) -> Iterator[None]:
        file = stand.layer("qwen3.5-9b") / "tokenizer.json"
        sound = file.readlink()
        file.unlink()
        harm(file)
        stand.signal(COUNTER, signal.SIGKILL)
        try:
            yield
        finally:
            file.unlink(missing_ok=True)
            file.symlink_to(sound)

    return harmed


OTHERS = frozenset({"other model", "list", "record", "models"})
FAULTS = (
    Fault("DynamoDB refuses connections", _refuses("DYNAMODB"), seen={NODE}),
    Fault("DynamoDB answers after 0.4 s", _slow("DYNAMODB", 0.2), seconds=1.5),
    Fault("DynamoDB hangs", _hangs("DYNAMODB"), allowed={NODE}, seconds=4),
    Fault("the record queue refuses connections", _refuses("SQS")),
    Fault("DynamoDB and the record queue refuse connections", _all(_refuses("DYNAMODB"), _refuses("SQS")), seen={NODE}),
    Fault("DynamoDB and the record queue hang", _all(_hangs("DYNAMODB"), _hangs("SQS")), allowed={NODE}, seconds=4),
    Fault("counters cannot be invoked", _refuses("LAMBDA"), seen={NODE}),
    Fault("the counter's workers are killed", _killed(COUNTER), seen={NODE}, spared=OTHERS),
    Fault("the counter's workers are frozen", _frozen(COUNTER), seen={NODE}, spared=OTHERS, stops=True),
    Fault("the counter is over its time", _starved(COUNTER), seen={NODE}, spared=OTHERS, stops=True),
    Fault(
        "the counter's workers are frozen and DynamoDB hangs",
        _all(_frozen(COUNTER), _hangs("DYNAMODB")),
        seen={NODE},
        stops=True,
    ),
    Fault(
        "the counter's workers are out of memory",
        _limited(COUNTER, resource.RLIMIT_AS),
        allowed={NODE, INTERNAL},
        spared=OTHERS,
    ),
    Fault("the edge's workers are killed", _killed(EDGE), seen={INTERNAL}, allowed={FULL}),
    Fault("the edge's workers are frozen", _frozen(EDGE), seen={INTERNAL}, allowed={FULL}, stops=True),
    Fault("the endpoint is throttled", _endpoint("throttled")),
    Fault("the endpoint is not there", _endpoint("absent")),
    Fault("the endpoint's container crashes", _endpoint("crashing")),
    Fault("the endpoint's container is frozen", _endpoint_hangs),
    Fault("the keys of node tokens are changed while their secret cannot be read", _rotation),
    Fault("the clocks of edges are ten seconds apart", _skew),
    Fault("a file of the model's layer is missing", _layer(_missing), seen={NODE}, spared=OTHERS),
    Fault("a file of the model's layer is cut off", _layer(_cut_off), seen={NODE}, spared=OTHERS),
    Fault("the edge's log cannot be written", _limited(EDGE, resource.RLIMIT_FSIZE)),
    Fault("the counter's log cannot be written", _limited(COUNTER, resource.RLIMIT_FSIZE)),
)
