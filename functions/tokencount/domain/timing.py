"""How long each phase of an answer took."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Of the edge, then of the counter; an answer tells of those that ran.
PHASES = ("edge_auth", "edge_upstream", "parse", "fetch", "image", "render", "encode", "endpoint", "total")


class Phases:
    """Durations in milliseconds by phase, in the order in which they ran; a phase that runs twice adds up."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._started = clock()
        self.durations: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Times the block, also where it raises."""
        started = self._clock()
        try:
            yield
        finally:
            self.durations[name] = round(self.durations.get(name, 0.0) + (self._clock() - started) * 1000, 3)

    def total(self) -> float:
        """Milliseconds since these phases began."""
        return round((self._clock() - self._started) * 1000, 3)


def server_timing(durations: dict[str, float]) -> str:
    """The value of a Server-Timing header (W3C Server Timing), its phases in the order of PHASES."""
    return ", ".join(f"{name};dur={durations[name]:.1f}" for name in sorted(durations, key=PHASES.index))


def read_server_timing(header: str) -> dict[str, float]:
    """The durations of a header that `server_timing` wrote."""
    pairs = (entry.strip().split(";dur=", 1) for entry in header.split(",") if ";dur=" in entry)
    return {name: float(duration) for name, duration in pairs}
