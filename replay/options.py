"""The command line of `python -m replay`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

USAGE = """%(prog)s [--url URL [--key KEY]] EVENT.json...
       %(prog)s [--url URL [--key KEY]] --request-id ID [--bucket NAME]
       %(prog)s --drift OLD NEW [--plot FILE.png] EVENT.json|FOLDER..."""
DESCRIPTION = """Run API Gateway events, or a recorded request, and check the answers; or count recorded requests with
two built layers of a model, and tell what differs."""
EPILOG = "Exit code: 0 where nothing differs, 1 where an answer or a count does, 2 where it could not be found out."


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options; a wrong combination ends the process, as argparse does it."""
    parser = argparse.ArgumentParser(prog="python -m replay", usage=USAGE, description=DESCRIPTION, epilog=EPILOG)
    add = parser.add_argument
    add("events", nargs="*", type=Path, help="event files, with expected/<name> beside each; for --drift events and "
        "recordings alike, or folders of them")  # fmt: skip
    add("--url", help="a running service; without it the functions are run here")
    add("--key", help="API key for --url (default: that of the stack `make run` started)")
    add("--request-id", metavar="ID", help="run the recording of this request, and compare with its record")
    add("--bucket", metavar="NAME", help="where it was recorded (default: the local stack's folder)")
    add(
        "--drift",
        nargs=2,
        type=Path,
        metavar=("OLD", "NEW"),
        help="two built layers: folders like .build/layers/<model>",
    )
    add("--plot", type=Path, metavar="FILE.png", help="draw the differences as well; needs matplotlib")
    options = parser.parse_args(arguments)
    if wrong := _wrong(options):
        parser.error(wrong)
    return options


def _wrong(options: argparse.Namespace) -> str | None:
    if bool(options.events) == bool(options.request_id):
        return "name the events to run, or one --request-id"
    if options.bucket and not options.request_id:
        return "--bucket is where a --request-id was recorded"
    if options.plot and not options.drift:
        return "--plot draws what --drift finds"
    if options.drift and (options.request_id or options.url or options.key):
        return "--drift takes events alone: nothing is sent anywhere"
    return None
