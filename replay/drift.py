"""Counts recorded requests with two built layers of one model: what would change if the new one were rolled out."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edge.request import EdgeRequest
from replay.events import ReplayError, read_object
from tokencount.adapters.answers import answer_to
from tokencount.adapters.model_files import BrokenLayer, load_counter
from tokencount.adapters.node_protocol import COUNT_PATH
from tokencount.domain.chat import Image
from tokencount.domain.checks import model_id, require_size
from tokencount.domain.counting import Counter, ImageFile, ImageReader, Job
from tokencount.domain.errors import CountError
from tokencount.domain.model import ModelSpec
from tokencount.domain.strict_json import loads
from tokencount.offline import guarded_images, job_of

# Tokens, or the code of the refusal.
Outcome = int | str


@dataclass(frozen=True, slots=True)
class Side:
    """A built layer: its model, and a counter that no context length stops."""

    model: ModelSpec
    counter: Counter

    def count(self, job: Job, size: int) -> Outcome:
        """The tokens of a request whose body has `size` bytes, more than the model takes included, or the refusal."""
        try:
            require_size(size, self.model.max_request_bytes, self.model.id)
            return self.counter.count(job).input_tokens
        except CountError as error:
            return answer_to(error).code

    def over(self, outcome: Outcome) -> bool:
        """Whether that many tokens are more than the model takes."""
        return isinstance(outcome, int) and outcome > self.model.context_length


@dataclass(frozen=True, slots=True)
class Pair:
    """What became of one request. `id`: of the request, or the name of the event's file."""

    id: str
    old: Outcome
    new: Outcome


class SameImages:
    """Reads a request's images once for both layers, so that both see the same, or are refused alike."""

    def __init__(self, read: ImageReader) -> None:
        self._read = read
        self._job: Job | None = None
        self._result: list[ImageFile] | CountError = []

    def __call__(self, images: list[Image], job: Job) -> list[ImageFile]:
        """The files; raises what the reader raised."""
        if job is not self._job:
            self._job = job
            try:
                self._result = self._read(images, job)
            except CountError as error:
                self._result = error
        if isinstance(self._result, CountError):
            raise self._result
        return self._result


def load_sides(old: Path, new: Path) -> tuple[Side, Side]:
    """Both layers, with one clock.

    Raises:
        ReplayError: one is no built layer, or they are of different models.
    """
    images, now = SameImages(guarded_images()), datetime.now(UTC)
    first, second = (_load(folder, images, now) for folder in (old, new))
    if first.model.id != second.model.id:
        raise ReplayError(f"{old} is a layer of {first.model.id}, and {new} one of {second.model.id}")
    return first, second


def _load(folder: Path, images: ImageReader, now: datetime) -> Side:
    model = folder / "model"
    try:
        counter = load_counter(model if model.is_dir() else folder, images, lambda: now)
    except BrokenLayer as error:
        raise ReplayError(f"{error}") from error
    return Side(counter.model, replace(counter, model=replace(counter.model, context_length=sys.maxsize)))


def compare(old: Side, new: Side, events: Sequence[Path]) -> list[Pair]:
    """Every count request for the model, counted by both.

    Args:
        events: files of events or of recordings, or folders of such files.

    Raises:
        ReplayError: one cannot be read, or none of them is a count request for the model.
    """
    files = list(_files(events))
    pairs = [_pair(path.stem, old, new, *found) for path in files if (found := _asked(path, old.model.id))]
    if not pairs:
        raise ReplayError(f"of {len(files)} events none is a count request for {old.model.id}")
    return pairs


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.glob("*.json")) if path.is_dir() else [path]


def _asked(path: Path, model: str) -> tuple[Any, int] | None:
    """The parsed body of a count request for that model, and its size in bytes; None of any other event."""
    content = read_object(path)
    request = EdgeRequest(content.get("event", content))
    if (request.method, request.path) != ("POST", COUNT_PATH):
        return None
    try:
        body = loads(request.body)
        return (body, len(request.body)) if model_id(body) == model else None
    except CountError:
        return None


def _pair(name: str, old: Side, new: Side, body: Any, size: int) -> Pair:
    try:
        job = job_of(body)
    except CountError as error:
        code = answer_to(error).code
        return Pair(name, code, code)
    return Pair(name, old.count(job, size), new.count(job, size))
