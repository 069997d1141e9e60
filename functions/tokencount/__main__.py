"""Counts requests on the command line, with no server: `python -m tokencount REQUEST.json…`, or JSON lines on stdin.

One line of JSON an input: the count, or the error the service would answer with.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tokencount.adapters.answers import error_body
from tokencount.adapters.model_files import BrokenLayer, load_counter, load_spec
from tokencount.domain.checks import model_id, require_size
from tokencount.domain.counting import Counter
from tokencount.domain.errors import CountError, ModelNotAvailable, quote
from tokencount.domain.strict_json import loads
from tokencount.offline import guarded_images, job_of

LAYERS = Path(__file__).parents[2] / ".build" / "layers"


def main(arguments: list[str]) -> int:
    """The exit code: 0 where every request was counted, 1 where one was not, 2 where one could not be read."""
    parser = argparse.ArgumentParser(prog="python -m tokencount", description="Count the tokens of Messages requests.")
    parser.add_argument("requests", nargs="*", type=Path, metavar="REQUEST.json", help="default: JSON lines on stdin")
    failed = 0
    try:
        counters = Counters(Path(os.environ.get("TOKENCOUNT_LAYERS") or LAYERS))
        for body in _bodies(parser.parse_args(arguments).requests):
            answer = counters.answer(body)
            failed += "error" in answer
            print(json.dumps(answer, ensure_ascii=False), flush=True)
    except OSError as error:
        print(f"tokencount: {error.filename} cannot be read: {error.strerror}", file=sys.stderr)
        return 2
    except BrokenLayer as error:
        print(f"tokencount: {error}", file=sys.stderr)
        return 2
    return 1 if failed else 0


class Counters:
    """The counters of the layers built in a folder, each loaded when it is first asked."""

    def __init__(self, layers: Path) -> None:
        self._folders = {load_spec(folder).id: folder for folder in sorted(layers.glob("*/model"))}
        if not self._folders:
            raise BrokenLayer(f"no model is built in {layers}; `make layers` builds them")
        images = guarded_images()
        self._load = cache(lambda folder: load_counter(folder, images))

    def answer(self, body: bytes) -> dict[str, object]:
        """The service's answer to a body: the count, or an error in the Anthropic shape."""
        try:
            request = loads(body)
            counter = self._find(request)
            require_size(len(body), counter.model.max_request_bytes, counter.model.id)
            return {"input_tokens": counter.count(job_of(request)).input_tokens}
        except CountError as error:
            return error_body(error, infer=True)

    def _find(self, request: object) -> Counter:
        model = model_id(request)
        if model not in self._folders:
            built = ", ".join(self._folders)
            raise ModelNotAvailable(f"{quote(model)} is not built here; built: {built}", param="model")
        return self._load(self._folders[model])


def _bodies(paths: list[Path]) -> Iterator[bytes]:
    if not paths:
        yield from (line for line in sys.stdin.buffer if line.strip())
    for path in paths:
        yield path.read_bytes()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
