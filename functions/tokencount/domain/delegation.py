"""Where a request is counted: in the function, or, heavy in images, by the model's own processor at its endpoint."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tokencount.domain.counting import Count, Counter, Fetched, ImageFile, Job, Measured
from tokencount.domain.errors import BackendUnavailable, CountError
from tokencount.domain.images import MAX_DECODED_PIXELS
from tokencount.domain.model import EndpointPolicy, ModelSpec

# As sent, images inlined; SageMaker itself takes 25 MB.
MAX_SENT_BYTES = 20_000_000
RETRY_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request goes, and why: "8 images", "17.2 megapixels", "no endpoint is deployed"."""

    target: Literal["function", "endpoint"]
    reason: str


class EndpointUnavailable(Exception):
    """The endpoint gives no answer that is one; the text says why, for the log."""


class Endpoint(Protocol):
    """The model's own processor, behind a network."""

    def count(self, body: bytes, request_id: str, seconds_left: float) -> int:
        """The input tokens of a Messages request (JSON, images inlined), whatever the model's context length.

        Raises:
            InvalidRequest, UnsupportedImage, UnsupportedParameter: the processor or the template refuses the request.
            EndpointUnavailable: there is no answer, or none in time.
        """


@dataclass(frozen=True, slots=True)
class DelegatingCounter:
    """Counts for one model, at its endpoint what its manifest wants counted there.

    Args:
        endpoint: None where none is deployed.
    """

    counter: Counter
    endpoint: Endpoint | None

    @property
    def model(self) -> ModelSpec:
        """The model that is counted for."""
        return self.counter.model

    def count(self, job: Job) -> Count:
        """The input tokens of a request.

        Raises:
            BackendUnavailable: the endpoint gives no answer, and the manifest allows no other count.
            And what Counter.count and Endpoint.count raise of a request.
        """
        measured = self.counter.measure(job)
        route = route_of(measured.files, self.model.endpoint, deployed=self.endpoint is not None)
        if route.target == "endpoint":
            body = as_sent(job.request, measured)
            if len(body) <= MAX_SENT_BYTES:
                return self._delegate(job, measured, route, body)
            route = Route("function", f"{_mega(len(body))} MB as sent")
        return self.counter.count_measured(job, measured, "function", route.reason)

    def _delegate(self, job: Job, measured: Measured, route: Route, body: bytes) -> Count:
        assert self.endpoint, "a route leads to it"
        try:
            with job.phase("endpoint"):
                tokens = self.endpoint.count(body, job.caller.request_id, job.seconds_left())
        except EndpointUnavailable as error:
            return self._fall_back(job, measured, f"{route.reason}; {error}")
        return self.counter.answer(tokens, measured, "endpoint", route.reason)

    def _fall_back(self, job: Job, measured: Measured, reason: str) -> Count:
        policy = self.model.endpoint
        assert policy, "a route was chosen by it"
        try:
            if not policy.fallback:
                message = f"The endpoint of {self.model.id} is unavailable; retry in {RETRY_SECONDS} seconds"
                raise BackendUnavailable(message, retry_after=RETRY_SECONDS)
            return self.counter.count_measured(job, measured, "fallback", reason)
        except CountError as error:
            error.endpoint_failure = reason
            raise


def route_of(files: Sequence[ImageFile], policy: EndpointPolicy | None, *, deployed: bool) -> Route:
    """Where a request with these images goes, as far as they decide it.

    Args:
        policy: the manifest's; None where it asks for no endpoint.
        deployed: there is an endpoint.
    """
    if policy is None:
        return Route("function", "the model asks for no endpoint")
    heavy = _heavy(files, policy)
    if heavy is None:
        return Route("function", "light in images" if files else "no images")
    if not deployed:
        return Route("function", "no endpoint is deployed")
    largest = max(file.size.pixels for file in files)
    if largest > MAX_DECODED_PIXELS:
        return Route("function", f"an image of {_mega(largest)} megapixels")
    return Route("endpoint", heavy)


def _heavy(files: Sequence[ImageFile], policy: EndpointPolicy) -> str | None:
    """By what a request is heavy in images."""
    size, pixels = sum(file.bytes for file in files), sum(file.size.pixels for file in files)
    if len(files) >= policy.images:
        return f"{len(files)} image{'s' if len(files) > 1 else ''}"
    if size >= policy.bytes:
        return f"{_mega(size)} MB of images"
    if pixels >= policy.pixels:
        return f"{_mega(pixels)} megapixels"
    return None


def _mega(number: int) -> str:
    return f"{round(number / 1_000_000, 1):.12g}"


def as_sent(request: dict[str, Any], measured: Measured) -> bytes:
    """The request as JSON text, the files of remote images in the place of their urls."""
    sources = {
        id(image.source): _base64_source(file.fetched)
        for image, file in zip(measured.images, measured.files, strict=True)
        if file.fetched
    }
    inlined = request | {"messages": _replaced(request["messages"], sources)}
    return json.dumps(inlined, ensure_ascii=False, separators=(",", ":")).encode()


def _base64_source(file: Fetched) -> dict[str, str]:
    return {"type": "base64", "media_type": file.media_type, "data": base64.b64encode(file.data).decode()}


def _replaced(value: Any, sources: Mapping[int, dict[str, str]]) -> Any:
    """A copy in which others stand for the objects with these identities."""
    if isinstance(value, dict):
        return sources.get(id(value)) or {key: _replaced(item, sources) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, sources) for item in value]
    return value
