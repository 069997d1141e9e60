"""Looks through what `sam build` made, before it is deployed: `python -m deploy.packages [arm64|x86_64]`.

Lambda unpacks a function and its layers into at most 250 MB. The 50 MB that a zip may have bind who sends it to Lambda
itself: the SAM CLI uploads to S3.
"""

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy import samconfig
from deploy.errors import DeployError
from local.template import Template

BUILD = samconfig.SAMCONFIG.with_name(".aws-sam") / "build"
LAMBDA_BYTES = 250 * 1024 * 1024
# The number of a processor in an ELF header.
_PROCESSORS = {183: "arm64", 62: "x86_64"}
_MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Package:
    """A function as Lambda unpacks it, in bytes: its own artifact, and its layers'."""

    function: str
    own: int
    layers: int

    @property
    def unpacked(self) -> int:
        """What counts against Lambda's limit."""
        return self.own + self.layers


def check(build: Path, architecture: str) -> list[Package]:
    """The package of every function.

    Raises:
        DeployError: nothing is built, it is built for another processor, or too large for Lambda.
    """
    if not (build / "template.yaml").exists():
        raise DeployError("nothing is built: make build")
    packages = []
    for function in Template(build / "template.yaml").functions.values():
        for folder in (function.code, *function.layers):
            _check_processor(folder, architecture)
        package = Package(function.name, _size(function.code), sum(map(_size, function.layers)))
        if package.unpacked > LAMBDA_BYTES:
            size = f"{package.unpacked / _MB:.1f} MB unpacked with its layers"
            raise DeployError(f"{package.function} has {size}, and Lambda takes {LAMBDA_BYTES // _MB}")
        packages.append(package)
    return packages


def libraries(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every compiled library in a folder, and the processor it is for."""
    for path in folder.rglob("*.so*"):
        with path.open("rb") as file:
            head = file.read(20)
        if head.startswith(b"\x7fELF"):
            number = struct.unpack("<18xH", head)[0]
            yield path, _PROCESSORS.get(number, f"processor {number}")


def _check_processor(folder: Path, architecture: str) -> None:
    for path, processor in libraries(folder):
        if processor != architecture:
            raise DeployError(
                f"{folder.name} is built for {processor} ({path.name}) and deployed for {architecture}:"
                f" make build ARCH={architecture}"
            )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main(arguments: list[str]) -> int:
    """Prints the sizes; the exit code is 1 where they, or the processor, are not what Lambda takes."""
    try:
        architecture = arguments[0] if arguments else samconfig.read().architecture
        packages = check(BUILD, architecture)
    except DeployError as refused:
        print(f"tokencount: {refused}", file=sys.stderr)
        return 1
    print(f"built for {architecture}; MB unpacked, of {LAMBDA_BYTES // _MB}:")
    for package in packages:
        print(f"  {package.function:24} {package.unpacked / _MB:6.1f}  ({package.layers / _MB:.1f} in layers)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
