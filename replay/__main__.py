"""`python -m replay`: events and recordings run again, and two layers compared over them; 1 where something differs."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import urllib3

from local.errors import StackError
from local.stack import ROOT, Stack
from replay import drift, drift_plot, recorded
from replay.drift_report import report
from replay.events import Event, ReplayError, read_event
from replay.expected import differences
from replay.options import parse
from replay.targets import Function, Reply, Service, Target
from tokencount.domain.recordings import Recording

SEED = ROOT / "events" / "count-text.json"
SHOWN_CHARACTERS = 80


def main(arguments: Sequence[str]) -> int:
    """0 where nothing differs, 1 where something does, 2 where it could not be found out."""
    options = parse(arguments)
    try:
        if options.drift:
            old, new = options.drift
            return _drift(old, new, options.events, options.plot)
        recording = recorded.find(options.request_id, options.bucket) if options.request_id else None
        events = [read_event(path) for path in options.events]
        with _target(options.url, options.key) as target:
            same = [_run_recording(recording, target)] if recording else [_run(event, target) for event in events]
            return 0 if all(same) else 1
    except (ReplayError, StackError) as error:
        print(f"replay: {error}", file=sys.stderr)
    except urllib3.exceptions.HTTPError as error:
        print(f"replay: {options.url} does not answer: {error}", file=sys.stderr)
    return 2


def _drift(first: Path, second: Path, events: Sequence[Path], picture: Path | None) -> int:
    # Asked for before minutes of counting.
    figure = drift_plot.figure_class() if picture else None
    old, new = drift.load_sides(first, second)
    pairs = drift.compare(old, new, events)
    print(report(old, new, pairs))
    if picture:
        drift_plot.plot(picture, old.model.id, pairs, figure)
    return 1 if any(pair.old != pair.new or old.over(pair.old) != new.over(pair.new) for pair in pairs) else 0


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
    return _tell(event.name, reply, list(differences(event.expected, actual)), "as expected")


def _run_recording(recording: Recording, target: Target) -> bool:
    reply = target.send(recorded.with_key(recording.event, target.key))
    found = list(differences(recorded.recorded_answer(recording.record), recorded.answer_of(reply)))
    return _tell(recording.id, reply, found, "as recorded")


def _tell(name: str, reply: Reply, found: Sequence[str], same: str) -> bool:
    verdict = _differing(found) if found else same
    print(f"{name:20} {reply.status}  {_shown(reply):{SHOWN_CHARACTERS}}  {verdict}", flush=True)
    return not found


def _recorded(target: Target) -> str:
    """The id of a request that was counted just now, and so has a record."""
    seed = read_event(SEED)
    return target.send(seed.filled(target.key, str)).headers.get("x-request-id", "")


def _shown(reply: Reply) -> str:
    text = json.dumps(reply.body, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def _differing(found: Sequence[str]) -> str:
    return f"DIFFERS: {found[0]}" + (f" (and {len(found) - 1} more)" if found[1:] else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
