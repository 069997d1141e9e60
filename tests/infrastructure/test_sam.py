"""The SAM CLI accepts the template and builds it for both processors, whatever Python and processor this host has."""

from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.packages import check, libraries
from local.template import Template
from tests.infrastructure.artifacts import ROOT, Once

pytestmark = pytest.mark.sam

# Each with what manylinux calls it.
PROCESSORS = {"arm64": "aarch64", "x86_64": "x86_64"}


# Each on one worker of a run: another would wait for what it builds.
@pytest.fixture(
    params=[pytest.param(each, marks=pytest.mark.xdist_group(each)) for each in PROCESSORS], scope="session"
)
def build(request: pytest.FixtureRequest, sam: Callable[..., str], once: Once) -> tuple[str, Path]:
    """A processor, and the folder that `sam build` made for it."""

    def run(into: Path) -> None:
        sam("sam", "build", "--build-dir", into, "--parameter-overrides", f"Architecture={request.param}")

    return request.param, once(f"sam-{request.param}", run)


def test_the_template_is_valid_and_has_no_lint(sam: Callable[..., str]) -> None:
    assert "valid SAM Template" in sam("sam", "validate", "--lint")


def test_compiled_libraries_are_of_the_processor_and_of_python_3_13(build: tuple[str, Path]) -> None:
    processor, folder = build
    found = dict(libraries(folder / "RuntimeLayer"))
    assert set(found.values()) == {processor}
    ours = [file.name for file in found if ".cpython-" in file.name]
    assert ours
    assert all(name.endswith(f".cpython-313-{PROCESSORS[processor]}-linux-gnu.so") for name in ours)


def test_functions_are_pure_python_and_fit_either_processor(template: Template, build: tuple[str, Path]) -> None:
    _, folder = build
    for function in template.functions:
        assert dict(libraries(folder / function)) == {}
        assert (folder / function / "edge" / "models.json").exists()


def test_no_file_is_compiled_for_another_python(build: tuple[str, Path]) -> None:
    _, folder = build
    assert [path for path in folder.rglob("*.pyc") if not path.name.endswith(".cpython-313.pyc")] == []


def test_every_function_with_its_layers_is_what_lambda_takes(template: Template, build: tuple[str, Path]) -> None:
    processor, folder = build
    packages = check(folder, processor)
    assert {package.function for package in packages} == set(template.functions)
    assert all(package.own and package.layers for package in packages)


@pytest.mark.parametrize("file", ["functions/requirements.txt", "layers/runtime/requirements.txt"])
def test_what_is_deployed_does_not_depend_on_the_python_that_builds_it(file: str) -> None:
    # pip judges markers by the interpreter it runs on, not by the one it installs for.
    assert ";" not in (ROOT / file).read_text("utf-8")
