"""The Anthropic SDKs, two majors each of Python and TypeScript, as clients of the running stack."""

import json
import os
import re
import subprocess
import sys

import pytest

from local.stack import ROOT
from tests.support.clients import Client, documented, running
from tests.support.first_answers import Front
from tests.support.requests import EXAMPLE, assistant, image, picture, request, text, tool, user
from tests.support.server import Server

pytestmark = pytest.mark.xdist_group("clients")

WEATHER = tool("get_weather", description="The weather in a city, now.")
CALL = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris", "n": 2}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("18 °C"), image(picture(64, 64))]}
REQUESTS = {
    "system": EXAMPLE,
    "system of blocks": request(user("hi"), system=[text("Be brief."), text("Be kind.")]),
    "tools": request(user("hi"), tools=[WEATHER], tool_choice={"type": "any"}),
    "a chosen tool": request(user("hi"), tools=[WEATHER], tool_choice={"type": "tool", "name": "get_weather"}),
    "thinking": request(user("hi"), thinking={"type": "enabled", "budget_tokens": 1024}),
    "an image": request(user(text("What is this?"), image(picture(256, 256)))),
    "a tool's result": request(user("Paris?"), assistant(text("I look."), CALL), user(RESULT), tools=[WEATHER]),
    "a started answer": request(user("Größe? 你好 🙂"), assistant("It is")),
}
QUERY = {"Python 1.x": "?beta=true", "TypeScript 0.x": "?beta=true"}


@pytest.fixture(scope="session")
def counts() -> dict[str, int]:
    """What `python -m tokencount` counts for the requests."""
    lines = "\n".join(json.dumps(body) for body in REQUESTS.values())
    command = [sys.executable, "-m", "tokencount"]
    done = subprocess.run(command, cwd=ROOT, input=lines, capture_output=True, text=True, check=True)
    answers = [json.loads(line)["input_tokens"] for line in done.stdout.splitlines()]
    return dict(zip(REQUESTS, answers, strict=True))


@pytest.mark.parametrize("method", ["count", "beta count"])
def test_a_count_and_a_beta_count_are_the_number_of_the_command_line(
    client: Client, counts: dict[str, int], method: str
) -> None:
    assert counts["system"] == 27
    assert {name: client.call(body, method).input_tokens for name, body in REQUESTS.items()} == counts


def test_a_count_has_the_request_id_of_its_header_under_the_sdk_s_name(client: Client) -> None:
    counted = client.call(EXAMPLE)
    assert re.fullmatch("req_[0-9a-hjkmnp-tv-z]{26}", counted.request_id)
    assert counted.headers["request-id"] == counted.headers["x-request-id"] == counted.request_id


@pytest.mark.parametrize("kind", ["api_key", "pat"])
def test_a_credential_counts_by_either_option_of_the_sdk(
    client: Client, front: Front, server: Server, kind: str
) -> None:
    for option in ("api_key", "auth_token"):
        assert client.call(EXAMPLE, url=front.url, credential={option: getattr(server, kind)}).input_tokens == 27
    sent = [{"x-api-key", "authorization"} & arrival.headers.keys() for arrival in front.arrivals]
    assert sent == [{documented("header of api_key")[client.sdk].lower()}, {"authorization"}]


def test_a_beta_count_comes_with_a_beta_header_and_from_the_older_majors_with_a_query_string(
    client: Client, front: Front
) -> None:
    assert client.call(EXAMPLE, "beta count", url=front.url).input_tokens == 27
    [arrival] = front.arrivals
    assert arrival.path == "/v1/infer/v1/messages/count_tokens" + QUERY.get(client.sdk, "")
    assert "token-counting" in arrival.headers["anthropic-beta"]


def test_typescript_0_sends_a_key_of_its_environment_beside_the_token_and_is_told_so(server: Server) -> None:
    environment = {"ANTHROPIC_API_KEY": "sk-ant-other", "PATH": os.environ["PATH"]}
    with running("TypeScript 0.x", server.url, {"auth_token": server.api_key}, environment) as client:
        assert "Two credentials that differ were sent" in client.call(EXAMPLE).message
        alone = {"auth_token": server.api_key, "api_key": None}
        assert client.call(EXAMPLE, credential=alone).input_tokens == 27
