"""Scaffolding the served models from a stand-in hub with their own files comes to the rules of their manifests."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from layers.manifest import HubSource, Manifest, read_manifest
from tests.support.hub import StandInHub
from tests.support.hub_models import hub_files_of, hub_of, manifest_of
from tests.support.layers import ROOT, Project
from tests.support.served import LAYERS


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with one other model, whose makefile a new one gets."""
    project = Project(tmp_path / "project")
    shutil.copytree(ROOT / "layers" / "scaffold", project.root / "layers" / "scaffold")
    shutil.copy(ROOT / "template.yaml", project.root)
    shutil.copy(ROOT / "layers" / LAYERS[0] / "Makefile", project.layer())
    return project


def scaffold(project: Project, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")} | project.env
    return subprocess.run(
        [sys.executable, "-m", "layers.scaffold", *arguments],
        cwd=project.root,
        env=environment | {"PYTHONPATH": str(ROOT / "functions")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def rules(manifest: Manifest) -> dict[str, object]:
    """What decides about a count; an endpoint may need a file more."""
    same = manifest.model_dump(include={"id", "context_length", "max_request_bytes", "template", "image"})
    return same | {"files": {name: manifest.files[name] for name in ("tokenizer.json", "chat_template.jinja")}}


@pytest.mark.parametrize("name", LAYERS)
def test_a_model_scaffolded_from_the_hub_has_the_rules_of_its_manifest_and_builds(project: Project, name: str) -> None:
    committed, hub = manifest_of(name), hub_of(name)
    with StandInHub(hub.repo, hub.revision, hub_files_of(name)).running() as stand_in:
        project.env["HF_ENDPOINT"] = stand_in.url
        done = scaffold(project, committed.id, hub.repo, "--context", str(committed.context_length))
        assert (done.returncode, done.stderr) == (0, "")
        made = read_manifest(project.root / "layers" / name / "manifest.toml")
        assert rules(made) == rules(committed)
        source = made.sources[0]
        assert isinstance(source, HubSource)
        assert (source.repo, source.revision) == (hub.repo, hub.revision)
        built = project.build(name, "--source", "hub")
        assert (built.returncode, built.stderr) == (0, "")
    layer = ROOT / ".build" / "layers" / name / "model"
    for file in ("tokenizer.json", "chat_template.jinja"):
        assert project.built(name)[file] == (layer / file).read_bytes()


def test_a_configuration_that_is_silent_about_the_context_length_is_asked_for_it(project: Project) -> None:
    name = "gemma-3-12b-it"
    hub = hub_of(name)
    with StandInHub(hub.repo, hub.revision, hub_files_of(name)).running() as stand_in:
        project.env["HF_ENDPOINT"] = stand_in.url
        done = scaffold(project, "b3os/new", hub.repo)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "b3os/new: config.json does not say how many tokens the model takes: say it with CONTEXT=<tokens>\n"
    )
    assert not (project.root / "layers" / "new").exists()


def test_a_gated_repository_is_said_in_one_sentence(project: Project) -> None:
    with StandInHub("test/gated", "0" * 40, {}, refuse=401, error_code="GatedRepo").running() as stand_in:
        project.env["HF_ENDPOINT"] = stand_in.url
        done = scaffold(project, "b3os/new", "test/gated")
    said = "b3os/new: test/gated is gated: accept its terms on the hub and set HF_TOKEN\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_a_folder_with_a_repositorys_files_does_as_well(project: Project, tmp_path: Path) -> None:
    name = "llama-3.1-8b-instruct"
    (tmp_path / "files").mkdir()
    for file, data in hub_files_of(name).items():
        (tmp_path / "files" / file).write_bytes(data)
    done = scaffold(project, manifest_of(name).id, str(tmp_path / "files"))
    assert (done.returncode, done.stderr) == (0, "")
    assert rules(read_manifest(project.root / "layers" / name / "manifest.toml")) == rules(manifest_of(name))
    assert project.build(name).returncode == 0
    sources = tomllib.loads((project.root / "layers" / name / "manifest.toml").read_text())["sources"]
    assert sources == [{"name": "folder", "path": "files"}]
