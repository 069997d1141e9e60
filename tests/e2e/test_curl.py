"""curl as a client of the running stack: what HTTP itself shows of an answer."""

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass

import pytest

from tests.support.environments import unavailable
from tests.support.first_answers import Front, edge_answer
from tests.support.requests import EXAMPLE, Json, image, picture, request, user
from tests.support.server import Server
from tokencount.adapters.answers import STATUS

pytestmark = pytest.mark.xdist_group("curl")

COUNT = "/v1/infer/v1/messages/count_tokens"
JSON = ("--header", "Content-Type: application/json")
REQUEST_ID = re.compile(r"req_[0-9a-hjkmnp-tv-z]{26}")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it came over the wire.

    Args:
        interim: the statuses before its own (100).
        headers: their names in lower case.
    """

    status: int
    headers: list[tuple[str, str]]
    body: str
    interim: list[int]

    def header(self, name: str) -> str:
        """The value of a header that was sent exactly once."""
        [value] = [value for known, value in self.headers if known == name]
        return value


def run(*arguments: str, data: str = "") -> str:
    """What curl prints, without its user's own settings and proxies."""
    program = shutil.which("curl") or unavailable("curl is not installed")
    command = [program, "--disable", "--noproxy", "*", "--silent", "--show-error", *arguments]
    done = subprocess.run(command, input=data, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def curl(*arguments: str, data: str = "") -> Answer:
    interim, (head, _, rest) = [], run("--include", *arguments, data=data).partition("\n\n")
    while (status := int(head.split()[1])) < 200:
        interim.append(status)
        head, _, rest = rest.partition("\n\n")
    pairs = (line.partition(": ") for line in head.splitlines()[1:])
    return Answer(status, [(name.lower(), value) for name, _, value in pairs], rest, interim)


@pytest.fixture
def bearer(server: Server) -> tuple[str, ...]:
    return ("--header", f"Authorization: Bearer {server.api_key}")


def post(server: Server, body: Json, *arguments: str, path: str = COUNT) -> Answer:
    return curl(server.url + path, *JSON, "--data-binary", "@-", *arguments, data=json.dumps(body))


def assert_identified(answer: Answer) -> None:
    assert REQUEST_ID.fullmatch(answer.header("request-id"))
    assert answer.header("x-request-id") == answer.header("request-id")
    assert answer.header("content-type") == "application/json"
    assert re.fullmatch(r"(\w+;dur=\d+\.\d+, )*total;dur=\d+\.\d+", answer.header("server-timing"))


def test_a_count_has_every_header_once(server: Server, bearer: tuple[str, ...]) -> None:
    answer = post(server, EXAMPLE, *bearer)
    assert (answer.status, answer.body) == (200, '{"input_tokens":27}')
    assert_identified(answer)
    assert answer.header("content-length") == str(len(answer.body))
    assert set(Counter(name for name, _ in answer.headers).values()) == {1}
    phases = [phase.partition(";")[0] for phase in answer.header("server-timing").split(", ")]
    assert phases[:3] == ["edge_auth", "edge_upstream", "parse"]


@pytest.mark.parametrize(
    "name",
    [
        "X-Api-Key:",
        "x-api-key:",
        "x-aPI-kEY:",
        "Authorization: Bearer",
        "AUTHORIZATION: bearer",
        "aUthorization: BEARER",
    ],
)
def test_a_key_is_taken_in_either_header_whatever_the_case(server: Server, name: str) -> None:
    assert post(server, EXAMPLE, "--header", f"{name} {server.api_key}").status == 200


def test_a_key_in_both_headers_is_one_credential_and_two_keys_are_401(server: Server, bearer: tuple[str, ...]) -> None:
    assert post(server, EXAMPLE, *bearer, "--header", f"x-api-key: {server.api_key}").status == 200
    answer = post(server, EXAMPLE, *bearer, "--header", "x-api-key: sk-ant-other")
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (401, "unauthorized")
    assert_identified(answer)


@pytest.mark.parametrize("query", ["?beta=true", "?beta=true&beta=false", "?", "?x=%2F%C3%BC"])
def test_a_query_string_changes_nothing(server: Server, bearer: tuple[str, ...], query: str) -> None:
    answer = post(server, EXAMPLE, *bearer, path=COUNT + query)
    assert (answer.status, answer.body) == (200, '{"input_tokens":27}')


def test_the_request_id_of_an_error_is_the_same_in_its_headers_and_its_body(
    server: Server, bearer: tuple[str, ...]
) -> None:
    answer = post(server, request(), *bearer)
    assert answer.status == 400
    assert json.loads(answer.body)["request_id"] == answer.header("request-id")
    assert_identified(answer)


def test_data_without_a_content_type_is_415_that_says_what_to_send(server: Server, bearer: tuple[str, ...]) -> None:
    answer = curl(server.url + COUNT, *bearer, "--data-binary", "@-", data=json.dumps(EXAMPLE))
    assert answer.status == 415
    assert "Content-Type: application/json" in json.loads(answer.body)["error"]["message"]


@pytest.mark.api_gateway
def test_a_connection_serves_one_request_after_another_errors_included(server: Server, bearer: tuple[str, ...]) -> None:
    told_of = ["--silent", "--write-out", "%{http_code} %{num_connects}\n", "--output", os.devnull]
    count = [*told_of, *JSON, "--data-binary", json.dumps(EXAMPLE), server.url + COUNT]
    models = [*told_of, *bearer, f"{server.url}/v1/infer/models"]
    told = run(*count, "--next", *count, *bearer, "--next", *models)
    assert told.splitlines() == ["401 1", "200 0", "200 0"]


@pytest.mark.api_gateway
def test_a_body_of_2_mb_is_asked_for_with_100_continue(server: Server, bearer: tuple[str, ...]) -> None:
    body = request(user(image(picture(720, 720, compress_level=0))))
    assert len(json.dumps(body)) > 2_000_000
    answer = post(server, body, *bearer, "--header", "Expect: 100-continue")
    assert (answer.interim, answer.status) == ([100], 200)


def test_a_chunked_body_is_read_whole(server: Server, bearer: tuple[str, ...]) -> None:
    assert post(server, EXAMPLE, *bearer, "--header", "Transfer-Encoding: chunked").body == '{"input_tokens":27}'


@pytest.mark.parametrize("size", [5_000_000, pytest.param(11_000_000, marks=pytest.mark.api_gateway)])
def test_a_body_that_is_too_large_is_413_from_the_edge_and_from_the_gateway(
    server: Server, bearer: tuple[str, ...], size: int
) -> None:
    answer = post(server, request(user("a" * size)), *bearer)
    body = json.loads(answer.body)
    assert (answer.status, body["error"]["type"], body["b3os"]["code"]) == (
        413,
        "request_too_large",
        "payload_too_large",
    )
    assert answer.header("request-id") == body["request_id"]


@pytest.mark.parametrize(
    ("path", "arguments", "allowed"),
    [
        (COUNT, ["--head"], "POST"),
        (COUNT, ["--request", "OPTIONS"], "POST"),
        ("/v1/infer/models", ["--head"], "GET"),
        ("/v1/infer/models", ["--request", "OPTIONS"], "GET"),
    ],
)
def test_head_and_options_are_405_with_the_methods_that_are_allowed(
    server: Server, bearer: tuple[str, ...], path: str, arguments: list[str], allowed: str
) -> None:
    answer = curl(server.url + path, *bearer, *arguments)
    assert (answer.status, answer.header("allow")) == (405, allowed)
    assert_identified(answer)
    assert bool(answer.body) is ("--head" not in arguments)


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_one_whole_number_of_at_least_1_that_curl_waits_for(
    front: Front, bearer: tuple[str, ...], status: int
) -> None:
    kind = next(kind for kind, answer in STATUS.items() if answer.status == status)
    failed = edge_answer(kind("try again", retry_after=0))
    front.answers += [failed, failed]
    to_front = [*bearer, *JSON, "--data-binary", json.dumps(EXAMPLE), front.url + COUNT]
    assert curl(*to_front).header("retry-after") == "1"
    assert run("--retry", "1", "--fail", *to_front) == '{"input_tokens":27}'
    assert len(front.arrivals) == 3
