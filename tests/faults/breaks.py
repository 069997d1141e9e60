"""How each part of the running stack is broken, and made sound again."""

import json
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from local import aws
from local.endpoint import Fault
from tests.faults.stand import COUNTER, EDGE, Stand
from tests.support.environments import unavailable

Breaks = Callable[[Stand], AbstractContextManager[object]]


def together(*breaks: Breaks) -> Breaks:
    """Several at the same time."""

    @contextmanager
    def broken(stand: Stand) -> Iterator[None]:
        with ExitStack() as stack:
            for each in breaks:
                stack.enter_context(each(stand))
            yield

    return broken


def refuses(service: str) -> Breaks:
    return lambda stand: stand.proxies[service].refusing()


def hangs(service: str) -> Breaks:
    return lambda stand: stand.proxies[service].hanging()


def slow(service: str, seconds: float) -> Breaks:
    return lambda stand: stand.proxies[service].slow(seconds)


def killed(function: str) -> Breaks:
    """Its workers, again and again: some of them in the middle of a request."""
    return again_and_again(lambda stand: stand.signal(function, signal.SIGKILL), 0.4)


def frozen(function: str) -> Breaks:
    """The workers that there are; others are started beside them."""

    @contextmanager
    def frozen(stand: Stand) -> Iterator[None]:
        stand.signal(function, signal.SIGSTOP)
        try:
            yield
        finally:
            stand.signal(function, signal.SIGCONT)

    return frozen


def starved(function: str) -> Breaks:
    """All its workers get two thousandths of a processor, so that what they do takes longer than they have."""

    def let_run(stand: Stand) -> None:
        stand.signal(function, signal.SIGCONT)
        time.sleep(0.002)
        stand.signal(function, signal.SIGSTOP)

    @contextmanager
    def starved(stand: Stand) -> Iterator[None]:
        with again_and_again(let_run, 1.0)(stand):
            yield
        stand.signal(function, signal.SIGCONT)

    return starved


def again_and_again(harm: Callable[[Stand], None], pause: float) -> Breaks:
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


def limited(function: str, kind: int) -> Breaks:
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


def endpoint(fault: Fault) -> Breaks:
    @contextmanager
    def broken(stand: Stand) -> Iterator[None]:
        stand.endpoint.fault = fault
        try:
            yield
        finally:
            stand.endpoint.fault = None

    return broken


@contextmanager
def endpoint_hangs(stand: Stand) -> Iterator[None]:
    """Its container is frozen."""
    pid = stand.endpoint.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def rotation(stand: Stand) -> Iterator[None]:
    """The keys are changed in one step while nobody can read them, and the edges think that theirs are old."""
    vault = aws.session().client("secretsmanager", endpoint_url=stand.stack.aws_url, config=aws.DIRECT)
    [name] = stand.stack.template.secrets
    new = str(time.time_ns())
    stand.set_clocks(dict.fromkeys(stand.pids(EDGE), 90))
    with stand.proxies["SECRETS_MANAGER"].refusing():
        vault.put_secret_value(SecretId=name, SecretString=json.dumps({"current": new, new: new * 4}))
        yield
    # Time passes, and they ask again: what they sign from now on, the counters have to look up.
    stand.set_clocks(dict.fromkeys(stand.pids(EDGE), 180))
    time.sleep(0.5)
    stand.set_clocks({})


@contextmanager
def skew(stand: Stand) -> Iterator[None]:
    """Every second edge is five seconds ahead, the others five behind."""
    stand.set_clocks({pid: 5 if place % 2 else -5 for place, pid in enumerate(stand.pids(EDGE))})
    yield
    stand.set_clocks({})


def missing(_file: Path) -> None:
    """Nothing is put in its place."""


def cut_off(file: Path) -> None:
    file.write_text('{"version": "1.0", "truncation"')


def layer(harm: Callable[[Path], None]) -> Breaks:
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
