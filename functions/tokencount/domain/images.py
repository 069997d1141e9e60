"""What an image costs: tokens from width and height alone, by the rule of the model's image processor."""

import math
from dataclasses import dataclass
from typing import Literal

from tokencount.domain.errors import InvalidRequest

MAX_SIDE = 32_768
# What Pillow takes for a decompression bomb: a larger image is counted from its header and never decoded.
MAX_DECODED_PIXELS = 178_956_970


@dataclass(frozen=True, slots=True)
class ImageSize:
    """Width and height in pixels, as the file's header states them.

    A model's processor turns an image upright by its EXIF orientation first; no rule tells width from height.
    """

    width: int
    height: int

    @property
    def pixels(self) -> int:
        """Width times height."""
        return self.width * self.height


@dataclass(frozen=True, slots=True)
class ImageRule:
    """How a model's processor turns an image into tokens.

    Args:
        rule: `fixed`: every image costs `tokens`; `smart_resize`: sides are rounded to multiples of
            `patch_size * merge_size` and scaled into `min_pixels` to `max_pixels`, one token a merged patch
            (transformers, `models/qwen2_vl/image_processing_qwen2_vl.py`).
        placeholder: the text the chat template writes for an image.
        expansion: what the processor puts in its place, with one soft token standing for all of them.
    """

    rule: Literal["fixed", "smart_resize"]
    placeholder: str
    expansion: str
    tokens: int = 0
    patch_size: int = 0
    merge_size: int = 0
    min_pixels: int = 0
    max_pixels: int = 0
    max_ratio: int = 0

    def tokens_of(self, size: ImageSize, param: str) -> int:
        """The soft tokens of an image of `size`.

        Raises:
            InvalidRequest: the model's processor would refuse the image; names `param`.
        """
        if min(size.width, size.height) < 1 or max(size.width, size.height) > MAX_SIDE:
            message = f"The image is {size.width}x{size.height} pixels; sides of 1 to {MAX_SIDE} are accepted"
            raise InvalidRequest(message, param=param)
        if self.rule == "fixed":
            return self.tokens
        if max(size.width, size.height) / min(size.width, size.height) > self.max_ratio:
            message = f"The image is {size.width}x{size.height} pixels; the sides may differ {self.max_ratio}-fold"
            raise InvalidRequest(message, param=param)
        return self._smart_resize_tokens(size)

    def _smart_resize_tokens(self, size: ImageSize) -> int:
        factor = self.patch_size * self.merge_size
        area = size.height * size.width
        # Python's round takes ties to even, and so does the processor.
        height, width = round(size.height / factor) * factor, round(size.width / factor) * factor
        if height * width > self.max_pixels:
            shrink = math.sqrt(area / self.max_pixels)
            height = max(factor, math.floor(size.height / shrink / factor) * factor)
            width = max(factor, math.floor(size.width / shrink / factor) * factor)
        elif height * width < self.min_pixels:
            grow = math.sqrt(self.min_pixels / area)
            height = math.ceil(size.height * grow / factor) * factor
            width = math.ceil(size.width * grow / factor) * factor
        return (height // factor) * (width // factor)
