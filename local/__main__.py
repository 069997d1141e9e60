"""`python -m local`: the service on one machine, until Ctrl-C."""

import argparse
import json
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import NoReturn

from local.errors import StackError
from local.stack import ROOT, Stack

EXAMPLE = {
    "model": "b3os/qwen3.5-9b",
    "system": "You are a concise assistant.",
    "messages": [{"role": "user", "content": "How many tokens is this?"}],
}


def main(arguments: list[str]) -> None:
    """Run the stack until it is told to end."""
    parser = argparse.ArgumentParser(prog="python -m local", description="Run the whole service on this machine.")
    parser.add_argument("--port", type=int, default=8080, help="of the HTTP front, on 127.0.0.1 (default: 8080)")
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    state = ROOT / ".local"
    try:
        with Stack(options.port, state=state) as stack:
            print(_welcome(stack, state), flush=True)
            threading.Event().wait()
    except StackError as error:
        sys.exit(f"tokencount: {error}")
    except KeyboardInterrupt:
        print("stopped")


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    """Leave by way of every `finally`; once is enough, a second Ctrl-C must not interrupt that."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def _welcome(stack: Stack, state: Path) -> str:
    return f"""
URL      {stack.url}
API key  {stack.api_key}
logs     {state / "logs"}

curl {stack.url}/v1/infer/v1/messages/count_tokens \\
  -H 'Authorization: Bearer {stack.api_key}' \\
  -H 'Content-Type: application/json' \\
  -d '{json.dumps(EXAMPLE)}'

ready"""


if __name__ == "__main__":
    main(sys.argv[1:])
