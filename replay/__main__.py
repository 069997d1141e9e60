"""`python -m replay events/*.json`: one line an event, exit code 1 if an answer is not the expected one."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import urllib3

from local.errors import StackError
from local.stack import ROOT, Stack
from replay.events import Event, ReplayError, read_event
from replay.expected import differences
from replay.targets import Function, Reply, Service, Target

SEED = ROOT / "events" / "count-text.json"
SHOWN_CHARACTERS = 80


def main(arguments: Sequence[str]) -> int:
    """Run the events; 0 if all answers are as expected, 1 if not, 2 if they could not be run."""
    parser = argparse.ArgumentParser(
        prog="python -m replay", description="Run API Gateway events and check the answers."
    )
    parser.add_argument("events", nargs="+", type=Path, help="event files, with expected/<name> beside each")
    parser.add_argument("--url", help="a running service; without it the functions are run here")
    parser.add_argument("--key", help="API key for --url (default: that of the stack `make run` started)")
    options = parser.parse_args(arguments)
    try:
        events = [read_event(path) for path in options.events]
        with _target(options.url, options.key) as target:
            matched = [_run(event, target) for event in events]
            return 0 if all(matched) else 1
    except (ReplayError, StackError) as error:
        print(f"replay: {error}", file=sys.stderr)
    except urllib3.exceptions.HTTPError as error:
        print(f"replay: {options.url} does not answer: {error}", file=sys.stderr)
    return 2


@contextmanager
def _target(url: str | None, key: str | None) -> Iterator[Target]:
    if url:
        yield Service(url, key or _key_of_running_stack(url))
    else:
        with Stack(warm=False) as stack:
            yield Function(stack)


def _key_of_running_stack(url: str) -> str:
    try:
        running = json.loads((ROOT / ".local" / "stack.json").read_text())
    except OSError:
        running = {}
    if running.get("url") != url.rstrip("/").replace("localhost", "127.0.0.1"):
        raise ReplayError(f"no key for {url}: pass one with --key")
    return str(running["api_key"])


def _run(event: Event, target: Target) -> bool:
    reply = target.send(event.filled(target.key, lambda: _recorded(target)))
    names = event.expected["headers"].keys() & reply.headers.keys()
    actual = {"statusCode": reply.status, "headers": {name: reply.headers[name] for name in names}, "body": reply.body}
    found = list(differences(event.expected, actual))
    print(f"{event.name:20} {reply.status}  {_shown(reply):{SHOWN_CHARACTERS}}  {_verdict(found)}", flush=True)
    return not found


def _recorded(target: Target) -> str:
    """The id of a request that was counted just now, and so has a record."""
    seed = read_event(SEED)
    return target.send(seed.filled(target.key, str)).headers.get("x-request-id", "")


def _shown(reply: Reply) -> str:
    text = json.dumps(reply.body, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def _verdict(found: Sequence[str]) -> str:
    if not found:
        return "as expected"
    return f"DIFFERS: {found[0]}" + (f" (and {len(found) - 1} more)" if found[1:] else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
