"""The count itself: images are measured, the template is rendered, the text is encoded once."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from tokencount.domain.chat import Chat, Image, images_of, to_chat
from tokencount.domain.errors import ContextLengthExceeded, InvalidRequest
from tokencount.domain.images import ImageRule, ImageSize
from tokencount.domain.model import ModelSpec
from tokencount.domain.ports import Caller
from tokencount.domain.records import CountedBy

Phase = Callable[[str], AbstractContextManager[None]]


class ChatTemplate(Protocol):
    """The model's own chat template."""

    def render(self, chat: Chat) -> str:
        """The prompt. Raises InvalidRequest where the template refuses the chat."""


class Tokenizer(Protocol):
    """The model's own tokenizer."""

    def count(self, text: str) -> int:
        """Tokens of `text`, special tokens in it recognised and none added."""


@dataclass(frozen=True, slots=True)
class Job:
    """A valid Messages request to count, and for whom.

    Args:
        phase: a timer's context manager for each phase that runs (`fetch`, `image`, `render`, `encode`, `endpoint`).
        seconds_left: until the answer must be on its way.
    """

    request: dict[str, Any]
    caller: Caller
    phase: Phase
    seconds_left: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Fetched:
    """The file of an image that was elsewhere, to be sent on in the url's place."""

    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ImageFile:
    """What an image block turned out to hold: its bytes' number and its size in pixels.

    Args:
        fetched: None where the image came in the request itself.
    """

    size: ImageSize
    bytes: int
    fetched: Fetched | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """The images of a request, their files in the same order, and the soft tokens that they are."""

    images: list[Image] = field(default_factory=list)
    files: list[ImageFile] = field(default_factory=list)
    tokens: int = 0


class ImageReader(Protocol):
    """Finds the sizes of images without decoding their pixels."""

    def __call__(self, images: list[Image], job: Job) -> list[ImageFile]:
        """One file an image, in their order. Raises InvalidRequest or UnsupportedImage, naming the block."""


@dataclass(frozen=True, slots=True)
class Count:
    """The answer, and what the request's record keeps of how it came about.

    Args:
        reason: why it was counted there, for the log.
    """

    input_tokens: int
    images: list[ImageFile]
    route: CountedBy
    reason: str

    @property
    def pixels(self) -> int:
        """Pixels of all images together."""
        return sum(image.size.pixels for image in self.images)

    @property
    def remote_bytes(self) -> int:
        """Bytes of the images that were fetched."""
        return sum(image.bytes for image in self.images if image.fetched)


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts for one model."""

    model: ModelSpec
    template: ChatTemplate
    tokenizer: Tokenizer
    read_images: ImageReader

    def count(self, job: Job) -> Count:
        """The input tokens of a request.

        Raises:
            InvalidRequest, UnsupportedImage: the template or an image refuses the request.
            ContextLengthExceeded: the message carries the exact count.
        """
        return self.count_measured(job, self.measure(job), "function", "asked of the function alone")

    def measure(self, job: Job) -> Measured:
        """The images of a request. Raises InvalidRequest or UnsupportedImage where one is refused."""
        images = images_of(job.request)
        if not images:
            return Measured()
        rule = self._rule(images)
        files = self.read_images(images, job)
        tokens = sum(rule.tokens_of(file.size, image.param) for file, image in zip(files, images, strict=True))
        return Measured(images, files, tokens)

    def count_measured(self, job: Job, measured: Measured, route: CountedBy, reason: str) -> Count:
        """The input tokens of a request whose images are measured; raises what `count` does."""
        images = len(measured.images)
        with job.phase("render"):
            text = self.template.render(to_chat(job.request, self.model.template))
            if images:
                text = self._expand(text, job.request, images)
        with job.phase("encode"):
            tokens = self.tokenizer.count(text) + measured.tokens - images
        return self.answer(tokens, measured, route, reason)

    def answer(self, tokens: int, measured: Measured, route: CountedBy, reason: str) -> Count:
        """The count, whoever made it. Raises ContextLengthExceeded where the model does not take as much."""
        if tokens > self.model.context_length:
            message = f"The prompt has {tokens} tokens; {self.model.id} takes at most {self.model.context_length}"
            raise ContextLengthExceeded(message)
        return Count(tokens, measured.files, route, reason)

    def _rule(self, images: list[Image]) -> ImageRule:
        if self.model.image is None:
            message = f"{self.model.id} takes text only; an image block was sent"
            raise InvalidRequest(message, param=images[0].param)
        return self.model.image

    def _expand(self, text: str, request: dict[str, Any], images: int) -> str:
        rule = self.model.image
        assert rule is not None, "images were measured by it"
        check_placeholders(text, request, images, rule.placeholder)
        return text.replace(rule.placeholder, rule.expansion)


def check_placeholders(prompt: str, request: dict[str, Any], images: int, placeholder: str) -> None:
    """Raises InvalidRequest where a request with images writes the text that stands for one of them in its prompt."""
    if prompt.count(placeholder) != images:
        message = f"Text that holds {placeholder} cannot be sent together with images: it stands for one of them"
        raise InvalidRequest(message, param=next(_paths_of(request, placeholder), None))


def _paths_of(value: Any, text: str, path: str = "") -> Iterator[str]:
    if isinstance(value, str) and text in value:
        yield path
    for key, item in _items(value):
        if key == "source" or (isinstance(value, dict) and text in key):
            continue
        yield from _paths_of(item, text, f"{path}.{key}" if path else key)


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((str(index), item) for index, item in enumerate(value))
