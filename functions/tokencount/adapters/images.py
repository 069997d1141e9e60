"""Reads the images of a request: first those in it, then those elsewhere, which have to be fetched."""

from collections.abc import Callable, Sequence

from tokencount.adapters.image_headers import read_fetched, read_image
from tokencount.domain.chat import Image
from tokencount.domain.counting import ImageFile, Job
from tokencount.domain.ports import Caller

Fetch = Callable[[Sequence[Image], Caller], Sequence[bytes]]


class Images:
    """Finds the sizes of a request's images.

    Args:
        fetch: the files at the urls of image blocks, in their order; raises a CountError where one is not had.
    """

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch

    def __call__(self, images: list[Image], job: Job) -> list[ImageFile]:
        """One file an image, in their order; raises what `read_image`, `read_fetched` and `fetch` do."""
        remote = [image for image in images if image.source["type"] == "url"]
        files: dict[str, ImageFile] = {}
        if len(remote) < len(images):
            with job.phase("image"):
                files |= {image.param: read_image(image) for image in images if image.source["type"] == "base64"}
        if remote:
            with job.phase("fetch"):
                found = self._fetch(remote, job.caller)
            with job.phase("image"):
                for image, data in zip(remote, found, strict=True):
                    files[image.param] = read_fetched(data, image.url_param)
        return [files[image.param] for image in images]
