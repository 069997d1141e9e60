"""A manifest's faults are named with their place, and every manifest of the project is sound."""

import tomllib
from pathlib import Path

import pytest

from layers.errors import BuildError
from layers.manifest import read_manifest
from tests.support.layers import ROOT, tiny_manifest

MANIFESTS = sorted((ROOT / "layers").glob("*/manifest.toml"))


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_every_manifest_of_the_project_is_sound(path: Path) -> None:
    manifest = read_manifest(path)
    assert manifest.sources[-1].name == "folder"


def test_the_models_have_different_ids() -> None:
    ids = [read_manifest(path).id for path in MANIFESTS]
    assert ids
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_each_layer_has_the_same_makefile(path: Path) -> None:
    assert path.with_name("Makefile").read_bytes() == MANIFESTS[0].with_name("Makefile").read_bytes()


def test_added_tokens_are_numbered_from_the_first(tmp_path: Path) -> None:
    path = tmp_path / "manifest.toml"
    path.write_text(tiny_manifest())
    tokenizer = read_manifest(path).tokenizer
    assert tokenizer
    assert [(token["id"], token["content"], token["special"]) for token in tokenizer.added()] == [
        (14, "<end>", True),
        (15, "<tool>", False),
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("context_length = 100", "context_length = 0", "context_length: Input should be greater than 0"),
        ("context_length", "context_lenght", "context_length: Field required"),
        ('id = "test/tiny"', 'id = "tiny"', "id: String should match"),
        ('content = "strings"', 'content = "blocks"', "template.content: Input should be 'parts' or 'strings'"),
        ("patch_size = 16", "patch_size = ", "is not TOML"),
        ('name = "npm"', 'name = "ftp"', "sources.2: Input tag 'ftp'"),
        ('revision = "0123', 'revision = "main', "sources.0.hub.revision: String should match"),
        ('"preprocessor_config.json" = "', '"config.json" = "', "the source pypi does not give exactly the files"),
        ('pypi = "tiny-model==1.0"', 'pypi = "tiny-model"', "sources.1.pypi.files.tokenizer.json.packaged.pypi"),
        ('npm = "@tiny/tokenizer@1.0.0"', 'npm = "x@1"\npypi = "x==1"', "give one of pypi and npm"),
        ('"chat_template.jinja" = "', '"template.jinja" = "', "files lacks chat_template.jinja"),
        ('"tokenizer.json" = "', '"../tokenizer.json" = "', "files.../tokenizer.json"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "manifest.toml"
    assert old in tiny_manifest()
    path.write_text(tiny_manifest().replace(old, new, 1))
    with pytest.raises(BuildError) as caught:
        read_manifest(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_image_sizes_stand_in_the_processor_file_as_in_the_image_rule() -> None:
    for path in MANIFESTS:
        manifest = tomllib.loads(path.read_text())
        processors = [
            source["files"]["preprocessor_config.json"]["json"]
            for source in manifest["sources"]
            if "json" in source.get("files", {}).get("preprocessor_config.json", {})
        ]
        for processor in processors:
            rule = manifest["image"]
            assert processor["size"] == {"longest_edge": rule["max_pixels"], "shortest_edge": rule["min_pixels"]}
            assert (processor["patch_size"], processor["merge_size"]) == (rule["patch_size"], rule["merge_size"])
