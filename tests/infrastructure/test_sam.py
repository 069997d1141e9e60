"""The SAM CLI accepts the template and builds it for both processors, whatever Python and processor this host has."""

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local.template import Template
from tests.infrastructure.artifacts import ROOT, Once

pytestmark = pytest.mark.sam

# The number of the processor in an ELF header, and what manylinux calls it.
PROCESSORS = {"arm64": (183, "aarch64"), "x86_64": (62, "x86_64")}
# Of a function and its layers, unpacked.
LAMBDA_BYTES = 250 * 1024 * 1024


@pytest.fixture(params=PROCESSORS, scope="session")
def build(request: pytest.FixtureRequest, sam: Callable[..., str], once: Once) -> tuple[str, Path]:
    """A processor, and the folder that `sam build` made for it."""

    def run(into: Path) -> None:
        sam("sam", "build", "--build-dir", into, "--parameter-overrides", f"Architecture={request.param}")

    return request.param, once(f"sam-{request.param}", run)


def libraries(folder: Path) -> Iterator[tuple[str, int]]:
    """Every compiled library in a folder, with its processor's number."""
    for path in folder.rglob("*.so*"):
        with path.open("rb") as file:
            yield path.name, struct.unpack("<18xH", file.read(20))[0]


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_the_template_is_valid_and_has_no_lint(sam: Callable[..., str]) -> None:
    assert "valid SAM Template" in sam("sam", "validate", "--lint")


def test_compiled_libraries_are_of_the_processor_and_of_python_3_13(build: tuple[str, Path]) -> None:
    processor, folder = build
    number, name = PROCESSORS[processor]
    found = dict(libraries(folder / "RuntimeLayer"))
    assert set(found.values()) == {number}
    ours = [file for file in found if ".cpython-" in file]
    assert ours
    assert all(file.endswith(f".cpython-313-{name}-linux-gnu.so") for file in ours)


def test_functions_are_pure_python_and_fit_either_processor(template: Template, build: tuple[str, Path]) -> None:
    _, folder = build
    for function in template.functions:
        assert dict(libraries(folder / function)) == {}
        assert (folder / function / "edge" / "models.json").exists()


def test_no_file_is_compiled_for_another_python(build: tuple[str, Path]) -> None:
    _, folder = build
    assert [path for path in folder.rglob("*.pyc") if not path.name.endswith(".cpython-313.pyc")] == []


def test_a_function_and_its_layers_fit_lambda(template: Template, build: tuple[str, Path]) -> None:
    _, folder = build
    names = {ROOT / own["ContentUri"]: name for name, own in template.resources("AWS::Serverless::LayerVersion")}
    for function in template.functions.values():
        unpacked = [function.name, *(names[layer] for layer in function.layers)]
        assert sum(size(folder / part) for part in unpacked) < LAMBDA_BYTES


@pytest.mark.parametrize("file", ["functions/requirements.txt", "layers/runtime/requirements.txt"])
def test_what_is_deployed_does_not_depend_on_the_python_that_builds_it(file: str) -> None:
    # pip judges markers by the interpreter it runs on, not by the one it installs for.
    assert ";" not in (ROOT / file).read_text("utf-8")
