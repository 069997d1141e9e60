"""The edge function with a clock that a test sets, process by process: taken for its handler in a stack under test.

`clocks.json` in the folder of the functions holds the seconds by which a process is ahead, by the process's id.
"""

import datetime as real
import json
import os
import time
from pathlib import Path

CLOCKS = "clocks.json"
_true_time = time.time


def _ahead() -> float:
    try:
        clocks = json.loads(Path(os.environ["LAMBDA_TASK_ROOT"], CLOCKS).read_bytes())
    except (FileNotFoundError, ValueError):
        return 0.0
    return float(clocks.get(str(os.getpid()), 0.0))


class SkewedDatetime(real.datetime):
    """The class with another now."""

    @classmethod
    def now(cls, tz: real.tzinfo | None = None) -> "SkewedDatetime":
        """The time by this process's clock."""
        return super().now(tz) + real.timedelta(seconds=_ahead())


time.time = lambda: _true_time() + _ahead()

from tokencount.adapters import node_tokens  # noqa: E402

# Its utc_now is the clock of the edge's composition root.
node_tokens.datetime = SkewedDatetime  # type: ignore[attr-defined]

from edge import handler as edge  # noqa: E402

handler = edge.handler
