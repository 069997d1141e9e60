"""The endpoint's Dockerfile: linted, and laid out as it would be built, so that its entry point can be started."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.conftest import LAYERS
from tests.support import dockerfile
from tests.support.endpoint import endpoint_process
from tests.support.requests import EXAMPLE

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "endpoint" / "Dockerfile"
PYTHON = "/opt/venv/bin/python"
LAYER = "qwen3.5-9b"


@pytest.fixture(scope="module")
def stages() -> list[dockerfile.Stage]:
    return dockerfile.read(DOCKERFILE)


def python(*path: Path) -> tuple[list[str], dict[str, str]]:
    """This interpreter with its packages and `path`, and nothing else of the repository."""
    packages = [str(folder) for folder in path] + [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    # Without site, the environment's own .pth file does not add the functions.
    return [sys.executable, "-S"], {**os.environ, "PYTHONPATH": os.pathsep.join(packages)}


def test_the_linter_has_nothing_to_say() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_what_is_copied_is_in_the_build_context_and_what_is_in_it_is_copied(stages: list[dockerfile.Stage]) -> None:
    sources = {source for stage in stages for origin, source, _ in stage.copies() if origin is None}
    assert all((ROOT / source).exists() for source in sources)
    ignore = DOCKERFILE.with_name("Dockerfile.dockerignore").read_text().splitlines()
    assert ignore[0] == "*"
    assert {line[1:].removesuffix("/*.py") for line in ignore if line.startswith("!")} == sources


def test_every_stage_starts_from_the_pinned_image_or_an_earlier_stage(stages: list[dockerfile.Stage]) -> None:
    first, *others = stages
    assert "@sha256:" in first.base
    names = [stage.name for stage in stages]
    assert all(stage.base in names[:at] for at, stage in enumerate(others, 1))
    assert all(origin in names for stage in stages for origin, _, _ in stage.copies() if origin)


def test_every_package_of_the_image_is_pinned_with_its_hash() -> None:
    lock = (ROOT / "locks" / "endpoint.txt").read_text()
    requirements = lock.replace("\\\n", "").splitlines()
    assert all("==" in line and "--hash=sha256:" in line for line in requirements)
    assert {"torch", "torchvision", "transformers"} <= {line.split("==")[0] for line in requirements}


def test_the_image_runs_as_no_root_user(stages: list[dockerfile.Stage]) -> None:
    [user] = stages[-1].all("USER")
    assert int(user.split(":")[0]) > 0


def test_what_is_copied_holds_all_that_builds_the_layer_and_starts_the_entry_point(
    stages: list[dockerfile.Stage], tmp_path: Path
) -> None:
    [builder] = [stage for stage in stages if stage.name == "model"]
    tree, image = tmp_path / "model", tmp_path / "image"
    builder.copy_context(ROOT, tree)
    build_layer(builder, tree)

    last = stages[-1]
    last.copy_context(ROOT, image)
    for origin, source, target in last.copies():
        if origin == builder.name:
            shutil.copytree(dockerfile.inside(tree, source), dockerfile.inside(image, target))
    environment = last.environment()
    paths = [dockerfile.inside(image, path) for path in environment["PYTHONPATH"].split(":")]
    command, env = python(*paths)
    entry_point, arguments = json.loads(last.all("ENTRYPOINT")[0]), json.loads(last.all("CMD")[0])
    assert entry_point[0] == PYTHON
    env["MODEL_DIR"] = str(dockerfile.inside(image, environment["MODEL_DIR"]))
    with endpoint_process([*command, *entry_point[1:], *arguments], env) as endpoint:
        assert endpoint.invoke(EXAMPLE) == (200, {"input_tokens": 27})


def build_layer(builder: dockerfile.Stage, tree: Path) -> None:
    """Runs the stage's build command on what it copied, from the built layer's files instead of the network."""
    [line] = builder.all("RUN")
    program, *words = shlex.split(line.replace('"$LAYER"', LAYER))
    assert program == PYTHON
    words = [str(dockerfile.inside(tree, word)) if word.startswith("/") else word for word in words]
    (tree / "tmp").mkdir()
    command, env = python()
    [folder] = builder.all("WORKDIR")
    done = subprocess.run(
        [*command, *words, "--source", f"folder={LAYERS / LAYER / 'model'}"],
        cwd=dockerfile.inside(tree, folder),
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
