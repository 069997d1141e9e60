"""What the builder's command line does, with a tiny model in a local folder."""

import json
import os
from pathlib import Path

import pytest

from layers import build, store
from tests.support.layers import Project, canonical_tiny, digest, hub_files, tiny_manifest


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project")
    project.layer()
    project.local_files()
    return project


def run(project: Project, *arguments: str) -> int:
    return build.main([*arguments], root=project.root, environ=project.env)


def test_a_layer_holds_its_files_in_canonical_form_and_their_description(project: Project) -> None:
    assert run(project, "--source", "folder") == 0
    built = project.built()
    described = json.loads(built.pop("model.json"))
    assert built == {**hub_files(), "tokenizer.json": canonical_tiny()}
    digests = {file: digest(data) for file, data in built.items()}
    lines = "".join(f"{file} {digests[file]}\n" for file in sorted(digests))
    assert described == {
        "id": "test/tiny",
        "context_length": 100,
        "max_request_bytes": 1000,
        "tokenizer_revision": digest(lines.encode())[:16],
        "digests": digests,
        "template": {
            "content": "strings",
            "reasoning_key": "thinking",
            "thinking": {},
            "missing_description": None,
            "special_tokens": {},
            "arguments": "object",
        },
        "image": None,
        "endpoint": None,
        # For a byte that has no token the exact one gives none, and the fast one an error.
        "fast_engine": None,
    }


def test_the_edge_gets_the_list_of_built_models(project: Project) -> None:
    assert run(project, "--source", "folder") == 0
    described = json.loads(project.built()["model.json"])
    assert json.loads((project.root / "functions/edge/models.json").read_bytes()) == {
        "test/tiny": {
            "id": "test/tiny",
            "object": "model",
            "context_length": 100,
            "max_request_bytes": 1000,
            "vision": False,
            "tokenizer_revision": described["tokenizer_revision"],
            "digests": described["digests"],
        }
    }


def test_a_model_with_an_image_rule_is_listed_as_one_with_vision(project: Project, tmp_path: Path) -> None:
    project.layer("other", tiny_manifest().replace("[files]", '[image]\nrule = "fixed"\n[files]', 1))
    project.local_files("other")
    listed = tmp_path / "listed.json"
    assert run(project, "other", "--source", "folder", "--models-json", str(listed)) == 0
    assert json.loads(listed.read_bytes())["test/tiny"]["vision"] is True
    assert not (project.root / "functions").exists()


def test_a_second_run_touches_nothing(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run(project, "--source", "folder")
    before = {path: path.stat().st_mtime_ns for path in project.root.rglob("*.json")}
    capsys.readouterr()
    assert run(project) == 0
    assert capsys.readouterr().out == "tiny: up to date\n"
    assert {path: path.stat().st_mtime_ns for path in project.root.rglob("*.json")} == before


@pytest.mark.parametrize("harm", ["changed", "missing", "added", "no stamp"])
def test_a_layer_that_was_harmed_is_built_again(
    project: Project, harm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(project, "--source", "folder")
    whole = project.built()
    if harm == "changed":
        (project.model() / "tokenizer.json").write_bytes(b"{}")
    elif harm == "missing":
        (project.model() / "tokenizer.json").unlink()
    elif harm == "added":
        (project.model() / "more.json").write_bytes(b"{}")
    else:
        (project.model().parent / "stamp.json").write_bytes(b"")
    assert run(project, "--source", "folder") == 0
    assert project.built() == whole
    assert "built from folder" in capsys.readouterr().out


def test_a_changed_manifest_builds_again(project: Project) -> None:
    run(project, "--source", "folder")
    manifest = project.root / "layers/tiny/manifest.toml"
    manifest.write_text(manifest.read_text().replace("context_length = 100", "context_length = 200"))
    assert run(project, "--source", "folder") == 0
    assert json.loads(project.built()["model.json"])["context_length"] == 200


def test_a_changed_builder_builds_again(project: Project) -> None:
    run(project, "--source", "folder")
    manifest = project.root / "layers/tiny/manifest.toml"
    built, builder = project.root / ".build/layers", project.root / "layers"
    assert store.Store(built, builder).source_of("tiny", manifest) == "folder"
    (builder / "canonical.py").write_text("# another\n")
    assert store.Store(built, builder).source_of("tiny", manifest) is None


def test_another_source_than_the_one_built_from_is_tried_when_asked_for(project: Project, tmp_path: Path) -> None:
    run(project, "--source", "folder")
    elsewhere = tmp_path / "elsewhere"
    (project.root / "layers/tiny/files").rename(elsewhere)
    assert run(project, "--source", f"folder={elsewhere}") == 0
    assert run(project, "--source", "folder") == 1


def test_a_folder_may_hold_a_layer_built_elsewhere(project: Project, tmp_path: Path) -> None:
    run(project, "--source", "folder")
    whole = project.built()
    other = Project(tmp_path / "other")
    other.layer()
    assert run(other, "--source", f"folder={project.model()}") == 0
    assert other.built() == whole


def test_a_file_that_is_not_the_pinned_one_ends_the_build_in_one_sentence(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    harmed = project.root / "layers/tiny/files/chat_template.jinja"
    expected = digest(harmed.read_bytes())
    harmed.write_bytes(b"harmed")
    assert run(project, "--source", "folder") == 1
    assert capsys.readouterr().err == (
        f"tiny: chat_template.jinja from {harmed.parent} is not the pinned file: "
        f"expected SHA-256 {expected}, got {digest(b'harmed')}\n"
    )
    assert not project.model().exists()


def test_a_source_whose_files_do_not_give_the_canonical_ones_is_refused(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = project.root / "layers/tiny/manifest.toml"
    manifest.write_text(manifest.read_text().replace(digest(canonical_tiny()), "0" * 64))
    assert run(project, "--source", "folder") == 1
    assert f"has the SHA-256 {digest(canonical_tiny())}, not {'0' * 64}" in capsys.readouterr().err


def test_a_failing_layer_is_left_out_and_the_others_are_built(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.layer("absent", tiny_manifest().replace("test/tiny", "test/absent"))
    assert run(project, "--source", "folder") == 0
    assert list(json.loads((project.root / "functions/edge/models.json").read_bytes())) == ["test/tiny"]
    folder = project.root / "layers/absent/files"
    assert capsys.readouterr().err == (
        f"absent is left out: no source gave the files (folder: there is no {folder / 'tokenizer.json'})\n"
    )


def test_named_models_alone_are_listed_and_a_single_layers_build_for_sam_lists_all_that_are_built(
    project: Project, tmp_path: Path
) -> None:
    listed = project.root / "functions/edge/models.json"
    project.layer("other", tiny_manifest().replace("test/tiny", "test/other"))
    project.local_files("other")
    run(project, "--source", "folder")
    assert list(json.loads(listed.read_bytes())) == ["test/other", "test/tiny"]
    run(project, "tiny")
    assert list(json.loads(listed.read_bytes())) == ["test/tiny"]
    run(project, "tiny", "--out", str(tmp_path / "artifact"))
    assert list(json.loads(listed.read_bytes())) == ["test/other", "test/tiny"]


def test_a_layer_that_has_gone_stale_and_cannot_be_built_is_no_longer_listed(project: Project) -> None:
    run(project, "--source", "folder")
    manifest = project.root / "layers/tiny/manifest.toml"
    manifest.write_text(manifest.read_text().replace("context_length = 100", "context_length = -1"))
    assert run(project) == 1
    assert json.loads((project.root / "functions/edge/models.json").read_bytes()) == {}


def test_a_full_disk_is_said_in_one_sentence(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, os.strerror(28), str(path))

    monkeypatch.setattr(store, "write_atomically", full)
    assert run(project, "--source", "folder") == 1
    assert capsys.readouterr().err.startswith("tiny: the disk is full: ")
    assert not project.model().exists()


def test_a_folder_that_cannot_be_written_is_said_in_one_sentence(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    (project.root / ".build").write_bytes(b"")
    assert run(project, "--source", "folder") == 1
    first, *rest = capsys.readouterr().err.splitlines()
    assert str(project.root / ".build") in first
    assert not rest


def test_the_model_folder_is_copied_out_for_one_layer(project: Project, tmp_path: Path) -> None:
    assert run(project, "tiny", "--source", "folder", "--out", str(tmp_path / "artifact")) == 0
    copied = {path.name: path.read_bytes() for path in (tmp_path / "artifact/model").iterdir()}
    assert copied == project.built()


def test_a_layer_that_cannot_be_built_is_not_copied_out(project: Project, tmp_path: Path) -> None:
    run(project, "--source", "folder")
    manifest = project.root / "layers/tiny/manifest.toml"
    manifest.write_text(manifest.read_text().replace("context_length = 100", "context_length = -1"))
    assert run(project, "tiny", "--out", str(tmp_path / "artifact")) == 1
    assert not (tmp_path / "artifact").exists()


def test_an_unknown_layer_is_said_with_the_known_ones(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(project, "tinny") == 1
    assert capsys.readouterr().err == "layers: there is no layers/tinny/manifest.toml; there are: tiny\n"


@pytest.mark.parametrize(
    "arguments",
    [["--source", "ftp"], ["--source", "hub=x"], ["--source", "folder="], ["--out", "x"], ["a", "b", "--out", "x"]],
)
def test_a_command_line_that_makes_no_sense_is_refused(
    project: Project, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run(project, *arguments)
    assert caught.value.code == 2
    assert "error: --" in capsys.readouterr().err


def test_a_source_that_the_manifest_lacks_is_said(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    text = tiny_manifest()
    without = text[: text.index('[[sources]]\nname = "npm"')] + '[[sources]]\nname = "folder"\npath = "files"\n'
    (project.root / "layers/tiny/manifest.toml").write_text(without)
    assert run(project, "--source", "npm") == 1
    assert capsys.readouterr().err == "tiny: the manifest has no source npm\n"
