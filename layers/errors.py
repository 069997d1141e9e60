"""What can go wrong while a layer is built, each said in one sentence that a person can act on."""


class BuildError(Exception):
    """The layer cannot be built, whatever other source there is."""


class SourceError(BuildError):
    """This source cannot give the files; another one may."""


class MissingFileError(SourceError):
    """The source is there, and has no such file."""


class DigestError(BuildError):
    """A file is not the one that is pinned. Ends the build: somebody should look."""

    def __init__(self, file: str, source: str, expected: str, got: str) -> None:
        super().__init__(f"{file} from {source} is not the pinned file: expected SHA-256 {expected}, got {got}")


def first_line(error: BaseException) -> str:
    """An exception's first line, or its type where it says nothing."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
