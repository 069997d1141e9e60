"""What the scaffold finds out of small templates and configurations, and what it says where it cannot."""

import json
from pathlib import Path
from typing import Any

import pytest

from layers.errors import BuildError
from layers.manifest import read_manifest
from layers.scaffold.__main__ import main
from layers.scaffold.model import scaffold
from layers.scaffold.probe import Probe
from layers.scaffold.repository import Folder
from layers.scaffold.text import template_lines
from local.template import Template
from tests.support.layers import ROOT, Project, digest, hub_files, tiny_tokenizer

STRINGS = "{% for m in messages %}{{ m.role + ': ' + m.content }}\n{% endfor %}"
PARTS = """{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for part in m.content %}
{%- if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}{% endfor %}"""
CALLS = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ %s }}{% endfor %}{% endfor %}"
CONFIG = {"config.json": {"max_position_embeddings": 100}}


@pytest.mark.parametrize(("source", "content"), [(STRINGS, "strings"), (PARTS, "parts"), (CALLS, "strings")])
def test_a_template_takes_parts_only_where_one_part_is_written_as_its_text(source: str, content: str) -> None:
    assert Probe(source.replace("%s", "''"), {}).rules().content == content


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("c.function.arguments | tojson", "object"),
        ("c.function.arguments.city", "object"),
        ("'{' ~ c.function.name ~ c.function.arguments ~ '}'", "string"),
        ("'{' + c.function.name + c.function.arguments + '}'", "string"),
        ("c.function.name", "object"),
    ],
)
def test_a_calls_arguments_go_in_as_the_template_can_write_them(written: str, arguments: str) -> None:
    assert Probe(CALLS.replace("%s", written), {}).rules().arguments == arguments


@pytest.mark.parametrize("key", ["reasoning_content", "thinking", "reasoning"])
def test_the_key_for_reasoning_is_the_one_that_is_written(key: str) -> None:
    source = STRINGS + "{% for m in messages if m." + key + " %}{{ m." + key + " }}{% endfor %}"
    assert Probe(source, {}).rules().reasoning_key == key


def test_a_template_without_reasoning_gets_the_usual_key() -> None:
    assert Probe(STRINGS, {}).rules().reasoning_key == "reasoning_content"


@pytest.mark.parametrize(
    ("more", "switches", "unset"),
    [
        ("{% if enable_thinking is defined and enable_thinking %}{% endif %}", {"enable_thinking": True}, []),
        ("{% if thinking %}{% endif %}", {"thinking": True}, []),
        ("{% if messages %}{% set thinking = 1 %}{% endif %}{{ thinking }}", {}, []),
        ("{% if not effort is defined %}{% set effort = 1 %}{% endif %}{{ effort }}", {}, ["effort"]),
    ],
)
def test_a_switch_for_thinking_is_a_name_that_the_template_leaves_to_its_caller(
    more: str, switches: dict[str, bool], unset: list[str]
) -> None:
    probe = Probe(STRINGS + more, {})
    assert (probe.rules().thinking, probe.unset()) == (switches, unset)


def test_a_tool_gets_an_empty_description_only_where_the_template_needs_one() -> None:
    strict = STRINGS + "{% for t in tools or [] %}{{ t.function.name + t.function.description }}{% endfor %}"
    assert Probe(strict, {}).rules().missing_description == ""
    assert Probe(strict.replace("+ t.function.description", ""), {}).rules().missing_description is None


def test_only_the_special_tokens_that_the_template_names_are_passed() -> None:
    probe = Probe("{{ bos_token }}" + STRINGS, {"bos_token": "<s>", "eos_token": "</s>"})
    assert probe.rules().special_tokens == {"bos_token": "<s>"}
    assert (probe.render([{"role": "user", "content": "x"}]) or "").startswith("<s>")


@pytest.mark.parametrize(
    ("source", "said"),
    [("{% for %}", "not one for Jinja"), ("{{ raise_exception('no') }}", "refuses a plain user message")],
)
def test_a_template_that_cannot_be_used_is_said(source: str, said: str) -> None:
    with pytest.raises(BuildError, match=said):
        Probe(source, {})


def repository(root: Path, **files: Any) -> Folder:
    """The tiny model's repository; a value that is no bytes is written as JSON, None leaves a file out."""
    whole = hub_files() | CONFIG | {name.replace("__", "."): data for name, data in files.items()}
    for name, data in whole.items():
        if data is not None:
            (root / name).write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return Folder(root)


GEMMA_LIKE = {"image_processor_type": "Gemma3ImageProcessorFast", "image_seq_length": 7}
GEMMA_TOKENS = {"boi_token": "<image>", "image_token": "<soft>", "eoi_token": "</image>"}


def test_an_image_rule_is_taken_from_a_processor_whose_rule_is_known(tmp_path: Path) -> None:
    files = {"chat_template__jinja": PARTS.encode(), "tokenizer_config__json": GEMMA_TOKENS}
    folder = repository(tmp_path, preprocessor_config__json=GEMMA_LIKE, **files)
    found = scaffold("test/x", folder, None)
    (tmp_path / "manifest.toml").write_text(found.manifest)
    assert read_manifest(tmp_path / "manifest.toml").image == {
        "rule": "fixed",
        "tokens": 7,
        "placeholder": "<image>",
        "expansion": "\n\n<image><soft></image>\n\n",
    }
    assert found.files.keys() == {"tokenizer.json", "chat_template.jinja", "preprocessor_config.json"}
    assert found.notes == []


@pytest.mark.parametrize(
    ("processor", "template", "said"),
    [
        ({"image_processor_type": "OtherImageProcessor"}, PARTS, "the image rule of OtherImageProcessor is not known"),
        ({"size": 1}, PARTS, "the image rule of its processor is not known"),
        (GEMMA_LIKE | {"do_pan_and_scan": True}, PARTS, "is not in a known form"),
        ({"image_processor_type": "Qwen2VLImageProcessor"}, PARTS, "is not in a known form"),
        (GEMMA_LIKE, STRINGS, "does not write one <image> for an image part"),
        (GEMMA_LIKE, PARTS.replace("<image>", ""), "does not write one <image> for an image part"),
    ],
)
def test_vision_is_off_with_a_note_where_images_cannot_be_counted(
    tmp_path: Path, processor: dict[str, Any], template: str, said: str
) -> None:
    files = {"chat_template__jinja": template.encode(), "tokenizer_config__json": GEMMA_TOKENS}
    found = scaffold("test/x", repository(tmp_path, preprocessor_config__json=processor, **files), None)
    assert "[image]" not in found.manifest
    [note] = found.notes
    assert said in note
    assert note.endswith("vision is off, and a request with an image is refused")


def test_tokens_that_only_the_configuration_adds_are_in_the_manifest(tmp_path: Path) -> None:
    tokens = {
        str(token["id"]): {k: v for k, v in token.items() if k != "id"} for token in tiny_tokenizer()["added_tokens"]
    }
    config = {"added_tokens_decoder": tokens}
    found = scaffold(
        "test/x", repository(tmp_path, preprocessor_config__json=None, tokenizer_config__json=config), None
    )
    (tmp_path / "manifest.toml").write_text(found.manifest)
    manifest = read_manifest(tmp_path / "manifest.toml")
    assert manifest.tokenizer
    assert manifest.tokenizer.added() == tiny_tokenizer()["added_tokens"][1:]
    assert manifest.files["tokenizer.json"] == digest(found.files["tokenizer.json"])


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"tokenizer__json": None}, "there is no tokenizer.json"),
        ({"chat_template__jinja": None}, "there is no chat template"),
        ({"config__json": {}}, "config.json does not say how many tokens"),
        ({"config__json": b"{"}, "config.json is not JSON"),
        ({"config__json": []}, "config.json holds no JSON object"),
        ({"tokenizer__json": {"model": 1}}, "the added tokens are not in a known form"),
        ({"tokenizer__json": {"added_tokens": []}}, "tokenizer.json is not in the form this builder knows"),
        ({"tokenizer_config__json": {"added_tokens_decoder": {"20": {"content": "x", "special": True}}}}, "cannot say"),
    ],
)
def test_what_is_missing_or_in_no_known_form_is_said(tmp_path: Path, files: dict[str, Any], said: str) -> None:
    folder = repository(tmp_path, preprocessor_config__json=None, **files)
    with pytest.raises(BuildError, match=said):
        scaffold("test/x", folder, None)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("chat_template.json", {"chat_template": STRINGS}),
        ("tokenizer_config.json", {"chat_template": STRINGS}),
        (
            "tokenizer_config.json",
            {"chat_template": [{"name": "rag", "template": ""}, {"name": "default", "template": STRINGS}]},
        ),
    ],
)
def test_a_template_is_found_where_older_repositories_have_it(
    tmp_path: Path, file: str, content: dict[str, Any]
) -> None:
    files = {file.replace(".", "__"): content, "chat_template__jinja": None, "preprocessor_config__json": None}
    assert scaffold("test/x", repository(tmp_path, **files), None).files["chat_template.jinja"] == STRINGS.encode()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project")
    (project.layer() / "Makefile").write_text("all:\n")
    (project.root / "template.yaml").write_bytes((ROOT / "template.yaml").read_bytes())
    return project


def test_a_folders_files_are_kept_with_the_layer_and_the_template_lines_are_printed(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "given").mkdir()
    repository(tmp_path / "given", preprocessor_config__json=None)
    assert main(["test/new-7b", str(tmp_path / "given")], root=project.root, environ=project.env) == 0
    layer = project.root / "layers" / "new-7b"
    assert {path.relative_to(layer).as_posix() for path in layer.rglob("*") if path.is_file()} == {
        "Makefile",
        "manifest.toml",
        "files/tokenizer.json",
        "files/chat_template.jinja",
    }
    printed = capsys.readouterr().out
    assert printed.startswith("wrote layers/new-7b\n")
    for lines in template_lines((ROOT / "template.yaml").read_text(), "test/new-7b", "new-7b").values():
        assert lines in printed
    assert main(["test/new-7b", str(tmp_path / "given")], root=project.root, environ=project.env) == 1
    assert capsys.readouterr().err == "test/new-7b: there is a layers/new-7b already\n"


def test_the_printed_lines_are_those_that_the_other_models_have() -> None:
    template = (ROOT / "template.yaml").read_text()
    for name in ("gemma-3-12b-it", "gpt-oss-20b", "llama-3.1-8b-instruct"):
        assert all(lines in template for lines in template_lines(template, f"b3os/{name}", name).values())


def test_with_the_printed_lines_added_the_template_serves_the_model(tmp_path: Path) -> None:
    text = (ROOT / "template.yaml").read_text()
    counter, entry, alias, shifted, shown = template_lines(text, "test/new", "new").values()
    text = text.replace("  # --- edge ---", f"{counter}\n  # --- edge ---", 1)
    text = text.replace(
        "          COUNTERS: !Sub |\n            {\n", f"          COUNTERS: !Sub |\n            {{\n{entry}", 1
    )
    resource = "                Action: lambda:InvokeFunction\n                Resource:\n"
    text = text.replace(resource, resource + alias, 1)
    resource = "            # With and without the alias behind it.\n            Resource:\n"
    text = text.replace(resource, resource + shifted, 1)
    functions = '            \\"${EdgeFunction}\\" OR \\"${RecorderFunction}\\"\n'
    text = text.replace(functions, functions + shown, 1)
    (tmp_path / "template.yaml").write_text(text)
    template = Template(tmp_path / "template.yaml")
    assert json.loads(template.functions["EdgeFunction"].environment["COUNTERS"])["test/new"] == "NewCounter:live"
    assert [layer.name for layer in template.functions["NewCounter"].layers] == ["runtime", "new"]
    assert "- !Ref NewCounter.Alias" in text
    assert "- !Sub ${NewCounter.Arn}*" in text
    [(_, dashboard)] = template.resources("AWS::CloudWatch::Dashboard")
    assert '\\"${NewCounter}\\"' in dashboard["DashboardBody"]["Fn::Sub"][1]["Functions"]["Fn::Sub"]
    assert "NewCounterRollback" in dict(template.resources("AWS::CloudWatch::Alarm"))


@pytest.mark.parametrize("model", ["new", "test/", "a/b/c", "a/.b", "a/../b"])
def test_an_id_is_an_owner_and_a_name(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([model, "."])
    assert "ID is an owner and a name" in capsys.readouterr().err


def test_a_source_is_a_folder_or_a_repository(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test/x", "nothing"], root=project.root, environ=project.env) == 1
    assert capsys.readouterr().err == "test/x: nothing is neither a folder nor a repository's name (org/name)\n"
