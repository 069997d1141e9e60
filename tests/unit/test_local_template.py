"""What the local stack reads of template.yaml."""

import json
from pathlib import Path

import pytest

from local.errors import StackError
from local.stack import ROOT
from local.template import Template


@pytest.fixture(scope="module")
def template() -> Template:
    return Template(ROOT / "template.yaml")


def test_every_counter_that_the_edge_names_is_a_function_with_that_alias(template: Template) -> None:
    counters = json.loads(template.functions["EdgeFunction"].environment["COUNTERS"])
    assert counters
    for target in counters.values():
        name, _, alias = target.partition(":")
        assert template.functions[name].alias == alias


def test_tables_and_secrets_are_known_to_the_functions_by_their_logical_ids(template: Template) -> None:
    environment = template.functions["EdgeFunction"].environment
    tables = {name for name, _ in template.resources("AWS::DynamoDB::Table")}
    assert {environment[f"{kind}_TABLE"] for kind in ("CREDENTIALS", "LIMITS", "REQUESTS")} == tables
    assert environment["NODE_TOKEN_SECRET"] in template.secrets


def test_a_dynamic_reference_becomes_the_text_of_the_secret(template: Template) -> None:
    keys = json.loads(template.functions["Qwen35Counter"].environment["NODE_TOKEN_KEYS"])
    assert keys == json.loads(template.secrets["NodeTokenSecret"])
    assert len(keys[keys["current"]]) == 64


def test_the_document_with_other_environments_and_parameters_is_read_back_with_them(
    template: Template, tmp_path: Path
) -> None:
    changed = template.with_environments({"EdgeFunction": {"A": "1"}}, RecordDays="7", Architecture="x86_64")
    (tmp_path / "template.json").write_text(json.dumps(changed))
    again = Template(tmp_path / "template.json")
    assert again.functions["EdgeFunction"].environment["A"] == "1"
    assert again.resolve({"Ref": "RecordDays"}) == "7"
    assert "A" not in template.functions["EdgeFunction"].environment
    assert template.resolve({"Ref": "RecordDays"}) == "30"


def test_a_function_has_what_globals_say_and_adds_to_it_or_says_otherwise(template: Template) -> None:
    counter, edge = template.functions["Qwen35Counter"], template.functions["EdgeFunction"]
    assert counter.environment["POWERTOOLS_LOG_LEVEL"] == edge.environment["POWERTOOLS_LOG_LEVEL"] == "INFO"
    assert (counter.timeout, edge.timeout) == (26, 28)
    assert [layer.name for layer in counter.layers] == ["runtime", "qwen3.5-9b"]
    assert counter.code == edge.code == ROOT / "functions"


def test_a_counter_has_an_endpoint_s_name_where_the_endpoint_is_deployed(template: Template) -> None:
    assert "ENDPOINT_NAME" not in template.functions["Qwen35Counter"].environment
    with_endpoints = Template(ROOT / "template.yaml", endpoints="any:image")
    assert with_endpoints.functions["Qwen35Counter"].environment["ENDPOINT_NAME"] == "Qwen35Endpoint"


def test_what_a_condition_leaves_out_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "template.yaml"
    path.write_text(
        """
        Parameters: {P: {Default: a}}
        Conditions: {IsA: !Equals [!Ref P, a], IsNotA: !Not [!Equals [!Ref P, a]], Odd: !Or [true, true]}
        Resources: {}
        """
    )
    template = Template(path)
    nothing = {"Ref": "AWS::NoValue"}
    assert template.resolve({"Fn::If": ["IsA", "yes", nothing]}) == "yes"
    assert template.resolve(
        {"k": {"Fn::If": ["IsNotA", "yes", nothing]}, "l": [{"Fn::If": ["IsA", nothing, 1]}, 2]}
    ) == {"l": [2]}
    with pytest.raises(StackError, match="Fn::Or"):
        template.resolve({"Fn::If": ["Odd", "yes", "no"]})


@pytest.mark.parametrize("value", ["!Ref Nothing", "!Sub 'a ${Nothing.Arn}'", "!Base64 text", "!Select [0, [a]]"])
def test_what_it_does_not_know_is_refused_instead_of_guessed(tmp_path: Path, value: str) -> None:
    path = tmp_path / "template.yaml"
    path.write_text(f"Resources: {{A: {{Type: Some, Properties: {{Value: {value}}}}}}}")
    template = Template(path)
    [(_, properties)] = template.resources("Some")
    with pytest.raises(StackError, match=r"^template\.yaml (refers to Nothing|uses Fn::)"):
        template.resolve(properties)
