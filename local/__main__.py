"""`python -m local`: the service on one machine, until Ctrl-C."""

import argparse
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
    from local.stack import Stack

EXAMPLE = {
    "system": "You are a concise assistant.",
    "messages": [{"role": "user", "content": "How many tokens is this?"}],
}


def main(arguments: list[str]) -> None:
    """Run the stack until it is told to end."""
    parser = argparse.ArgumentParser(prog="python -m local", description="Run the whole service on this machine.")
    parser.add_argument("--port", type=int, default=8080, help="of the HTTP front, on 127.0.0.1 (default: 8080)")
    parser.add_argument("--endpoint", action="store_true", help="deploy the endpoint for image-heavy requests too")
    options = parser.parse_args(arguments)
    ending = _end_by_signal()
    try:
        # Only now: it takes a third of a second, in which Ctrl-C should not be answered by a traceback.
        from local.stack import CONTAINER, ROOT, Stack  # noqa: PLC0415

        with Stack(options.port, state=ROOT / ".local", endpoint=CONTAINER if options.endpoint else None) as stack:
            print(_welcome(stack, ROOT / ".local" / "logs"), flush=True)
            ending.wait()
    except StackError as error:
        sys.exit(f"tokencount: {error}")
    print("stopped")


def _end_by_signal() -> threading.Event:
    """Set by the first signal, also during the start; a second one ends at once, and the workers notice that."""
    ending = threading.Event()

    def end(number: int, _frame: FrameType | None) -> None:
        if ending.is_set():
            os._exit(128 + number)
        ending.set()

    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, end)
    return ending


def _welcome(stack: "Stack", logs: Path) -> str:
    return f"""
URL      {stack.url}
models   {", ".join(stack.models)}
API key  {stack.api_key}
PAT      {stack.pat}
session  {stack.session}
logs     {logs}

curl {stack.url}/v1/infer/v1/messages/count_tokens \\
  -H 'Authorization: Bearer {stack.api_key}' \\
  -H 'Content-Type: application/json' \\
  -d '{json.dumps({"model": stack.models[0], **EXAMPLE})}'

ready"""


if __name__ == "__main__":
    main(sys.argv[1:])
