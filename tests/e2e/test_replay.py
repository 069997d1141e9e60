"""The events of the repository get the answers stored beside them, from the functions and over HTTP."""

import json
from pathlib import Path

import pytest

from local.stack import ROOT
from replay import targets
from replay.__main__ import main
from tests.support.server import Server

EVENTS = sorted((ROOT / "events").glob("*.json"))


def test_every_event_gets_its_expected_answer_from_the_functions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(path) for path in EVENTS]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [path.name for path in EVENTS]
    assert all(line.endswith("  as expected") for line in lines)


def test_every_event_gets_its_expected_answer_over_http(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*(str(path) for path in EVENTS), "--url", server.url, "--key", server.api_key]) == 0
    assert capsys.readouterr().out.count("  as expected\n") == len(EVENTS)


def test_an_answer_that_differs_is_told_with_its_place_and_exit_code_1(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "expected").mkdir()
    for name in ("count-text.json", "expected/count-text.json"):
        (tmp_path / name).write_text(
            (ROOT / "events" / name).read_text().replace('"input_tokens": 27', '"input_tokens": 26')
        )
    event = str(tmp_path / "count-text.json")
    assert main([event, "--url", server.url, "--key", server.api_key]) == 1
    told = 'count-text.json      200  {"input_tokens":27}'
    output = capsys.readouterr().out
    assert output.startswith(told)
    assert output.endswith("  DIFFERS: body.input_tokens is 27, expected 26\n")


def test_a_query_string_of_an_event_reaches_the_service(server: Server) -> None:
    event = json.loads((ROOT / "events" / "models.json").read_text().replace("{{API_KEY}}", server.api_key))
    event["multiValueQueryStringParameters"] = {"beta": ["true"]}
    assert targets.Service(server.url, server.api_key).send(event).status == 200
