"""How much memory processes hold over time, and whether it stays the same."""

import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.peak import Process

EVERY_SECONDS = 5
# Two megabytes in ten minutes, which an allocator takes or not; the edge would fill its 512 MB in a day and a half.
FLAT_MB_PER_HOUR = 12.0


@dataclass(slots=True)
class Series:
    """What a process held: seconds and MB."""

    kind: str
    seconds: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)

    def slope(self, start: float, end: float) -> float | None:
        """MB an hour by least squares; None of a process that was not there all the time."""
        points = [(at, mb) for at, mb in zip(self.seconds, self.held, strict=True) if start <= at <= end]
        if len(points) < 3 or points[0][0] > start + 2 * EVERY_SECONDS or points[-1][0] < end - 2 * EVERY_SECONDS:
            return None
        return 3600 * statistics.linear_regression(*zip(*points, strict=True)).slope

    def at(self, moment: float) -> float | None:
        """The sample of that moment; None where there is none near it."""
        near = [(abs(at - moment), mb) for at, mb in zip(self.seconds, self.held, strict=True)]
        distance, mb = min(near)
        return mb if distance <= EVERY_SECONDS else None


class Watch:
    """Looks at processes every few seconds meanwhile.

    Args:
        processes: those of the moment by their kind.
    """

    def __init__(self, processes: Callable[[], Mapping[str, Sequence[int]]]) -> None:
        self._processes = processes
        self._series: dict[int, Series] = {}
        self._started = time.perf_counter()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def now(self) -> float:
        """Seconds from the start."""
        return time.perf_counter() - self._started

    @property
    def kinds(self) -> dict[str, list[Series]]:
        """Every process that was seen, by kind."""
        found: dict[str, list[Series]] = {}
        for each in list(self._series.values()):
            found.setdefault(each.kind, []).append(each)
        return found

    def _run(self) -> None:
        while not self._ended.is_set():
            for kind, pids in self._processes().items():
                for pid in pids:
                    self._look(kind, pid)
            self._ended.wait(EVERY_SECONDS)

    def _look(self, kind: str, pid: int) -> None:
        try:
            held = Process(pid).now
        except (OSError, KeyError):  # it has ended
            return
        series = self._series.setdefault(pid, Series(kind))
        series.seconds.append(self.now)
        series.held.append(held)


def children(named: str) -> list[int]:
    """This process's own children whose command line holds that text."""
    tasks = Path("/proc/self/task").iterdir()
    pids = [int(pid) for task in tasks for pid in (task / "children").read_text().split()]
    return [pid for pid in pids if named in _command(pid)]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace")
    except OSError:  # it has ended
        return ""
