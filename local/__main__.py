"""`python -m local`: the service on one machine, until Ctrl-C."""

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from local.errors import StackError

if TYPE_CHECKING:
    from local.sam import SamLocal
    from local.stack import Stack

STATE = Path(__file__).resolve().parent.parent / ".local"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
EXAMPLE = {
    "system": "You are a concise assistant.",
    "messages": [{"role": "user", "content": "How many tokens is this?"}],
}


def main(arguments: list[str]) -> None:
    """Run the stack until it is told to end."""
    parser = argparse.ArgumentParser(prog="python -m local", description="Run the whole service on this machine.")
    parser.add_argument("--port", type=int, default=8080, help="of the HTTP front, on 127.0.0.1 (default: 8080)")
    parser.add_argument("--endpoint", action="store_true", help="deploy the endpoint for image-heavy requests too")
    parser.add_argument("--sam", action="store_true", help="run it in containers, as built, by the SAM CLI")
    parser.add_argument(
        "--record-events", action="store_true", help="keep count requests in .local/events, with content"
    )
    options = parser.parse_args(arguments)
    try:
        if options.sam:
            _run_in_containers(options.port)
        else:
            _run(options.port, endpoint=options.endpoint, record_events=options.record_events)
    except StackError as error:
        sys.exit(f"tokencount: {error}")
    print("stopped")


def _run(port: int, *, endpoint: bool, record_events: bool) -> None:
    ending = _end_by_signal()
    # Only now: it takes a third of a second, in which Ctrl-C should not be answered by a traceback.
    from local.stack import CONTAINER, EVENTS, Stack  # noqa: PLC0415

    module = CONTAINER if endpoint else None
    with Stack(port, state=STATE, endpoint=module, record_events=record_events) as stack:
        if record_events:
            print(f"count requests are recorded, with their content, in {STATE / EVENTS}")
        print(_welcome(stack), flush=True)
        ending.wait()


class _Ended(BaseException):
    """A signal came."""


def _run_in_containers(port: int) -> None:
    def end(_number: int, _frame: FrameType | None) -> None:
        raise _Ended

    with contextlib.suppress(_Ended):
        for each in SIGNALS:
            signal.signal(each, end)
        from local.sam import SamLocal  # noqa: PLC0415

        with SamLocal(port, state=STATE) as service:
            print(_welcome(service, f"\n{service.invoke}\n"), flush=True)
            signal.pause()


def _end_by_signal() -> threading.Event:
    """Set by the first signal, also during the start; a second one ends at once, and the workers notice that."""
    ending = threading.Event()

    def end(number: int, _frame: FrameType | None) -> None:
        if ending.is_set():
            os._exit(128 + number)
        ending.set()

    for each in SIGNALS:
        signal.signal(each, end)
    return ending


def _welcome(stack: "Stack | SamLocal", command: str = "") -> str:
    return f"""
URL      {stack.url}
models   {", ".join(stack.models)}
API key  {stack.api_key}
PAT      {stack.pat}
session  {stack.session}
logs     {STATE / "logs"}

curl {stack.url}/v1/infer/v1/messages/count_tokens \\
  -H 'Authorization: Bearer {stack.api_key}' \\
  -H 'Content-Type: application/json' \\
  -d '{json.dumps({"model": stack.models[0], **EXAMPLE})}'
{command}
ready"""


if __name__ == "__main__":
    main(sys.argv[1:])
