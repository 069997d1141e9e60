"""The count of a request as the model's own runtime would make it, images decoded and preprocessed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from endpoint.decoding import Decoders
from endpoint.processor import ModelProcessor, load_processor
from tokencount.adapters.model_files import BrokenLayer, load_verified_spec
from tokencount.domain.chat import images_of, to_chat
from tokencount.domain.counting import Phase, check_placeholders
from tokencount.domain.images import ImageRule
from tokencount.domain.model import ModelSpec


@dataclass(frozen=True, slots=True)
class EndpointCounter:
    """Counts for one model."""

    model: ModelSpec
    image: ImageRule
    processor: ModelProcessor
    decoders: Decoders

    @classmethod
    def load(cls, folder: Path, threads: int) -> Self:
        """The counter of the model whose layer is at `folder`, decoding `threads` images at a time.

        Raises:
            BrokenLayer: a file is missing or not the one the layer was built with, or the model has no vision.
        """
        spec = load_verified_spec(folder)
        if spec.image is None:
            raise BrokenLayer(f"{folder}: {spec.id} takes no images, so it needs no endpoint")
        processor = load_processor(folder, spec.template)
        return cls(spec, spec.image, processor, Decoders(processor.expand, threads))

    def count(self, request: dict[str, Any], phase: Phase, deadline: float) -> int:
        """The input tokens of a valid Messages request, whatever the model's context length.

        Args:
            phase: a timer's context manager for each phase that runs (`render`, `image`, `encode`).
            deadline: when to give up, by `time.monotonic`.

        Raises:
            InvalidRequest, UnsupportedImage: the template or the processor refuses the request.
            TooLarge, TooLate: see Decoders.
        """
        images = images_of(request)
        with phase("render"):
            prompt = self.processor.render(to_chat(request, self.model.template))
            if images:
                check_placeholders(prompt, request, len(images), self.image.placeholder)
        with phase("image"):
            expansions = self.decoders.expansions(images, deadline)
        with phase("encode"):
            return self.processor.count(prompt, expansions)
