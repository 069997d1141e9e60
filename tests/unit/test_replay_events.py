"""Event files hold no secret, are what API Gateway would send, and are checked before anything is started."""

import json
from pathlib import Path

import pytest

from local.routes import Router
from local.stack import ROOT
from local.template import Template
from replay.__main__ import main
from replay.events import read_event

EVENTS = sorted((ROOT / "events").glob("*.json"))
# What a REST (v1) proxy event holds, by AWS's documentation of Lambda proxy integrations.
KEYS = {
    *("resource", "path", "httpMethod", "headers", "multiValueHeaders", "queryStringParameters", "pathParameters"),
    *("multiValueQueryStringParameters", "stageVariables", "requestContext", "body", "isBase64Encoded"),
}


@pytest.mark.parametrize("path", EVENTS, ids=lambda path: path.stem)
def test_an_event_is_what_api_gateway_makes_for_a_route_of_the_template(path: Path) -> None:
    event = json.loads(path.read_text())
    match = Router(Template(ROOT / "template.yaml").routes).match(event["httpMethod"], event["path"])
    assert event.keys() == KEYS
    assert match is not None
    assert (event["resource"], event["pathParameters"] or {}) == (match[0].path, match[1])
    assert event["multiValueHeaders"] == {name: [value] for name, value in event["headers"].items()}
    assert event["requestContext"]["resourcePath"] == event["resource"]
    assert event["requestContext"]["path"] == "/live" + event["path"]


@pytest.mark.parametrize("path", EVENTS, ids=lambda path: path.stem)
def test_placeholders_are_filled_and_only_a_lookup_asks_for_a_request(path: Path) -> None:
    asked: list[str] = []

    def request_id() -> str:
        asked.append("once")
        return "req_1"

    event = read_event(path).filled('a "key"', request_id)
    assert "{{" not in json.dumps(event)
    assert asked == (["once"] if path.stem == "lookup" else [])
    if path.stem != "bad-key":
        assert event["headers"]["Authorization"] == 'Bearer a "key"'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "is no JSON: Expecting property name"),
        ("[]", "is no JSON object"),
        ("{}", "is no REST proxy event of API Gateway"),
    ],
)
def test_a_file_that_is_no_event_is_one_clear_sentence_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, told: str
) -> None:
    (tmp_path / "expected").mkdir()
    (tmp_path / "expected" / "event.json").write_text("{}")
    if text is not None:
        (tmp_path / "event.json").write_text(text)
    assert main([str(tmp_path / "event.json")]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"replay: {tmp_path / 'event.json'} {told}")
    assert output.err.count("\n") == 1


def test_an_event_without_an_expected_answer_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "models.json").write_text((ROOT / "events" / "models.json").read_text())
    assert main([str(tmp_path / "models.json")]) == 2
    assert "expected/models.json cannot be read" in capsys.readouterr().err


def test_a_url_without_a_key_and_one_that_does_not_answer_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    event = str(ROOT / "events" / "models.json")
    assert main([event, "--url", "http://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err == "replay: no key for http://127.0.0.1:9: pass one with --key\n"
    assert main([event, "--url", "http://127.0.0.1:9", "--key", "k"]) == 2
    assert capsys.readouterr().err.startswith("replay: http://127.0.0.1:9 does not answer")
