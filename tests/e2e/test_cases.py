"""Public fault reports of this field, through the running stack: what a client sees of each."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import urllib3
from tokenizers import Tokenizer

from local.stack import Stack
from tests.conftest import LAYERS
from tests.support.requests import EXAMPLE, Json, request, user
from tests.support.server import Server
from tokencount.domain.chat import to_chat
from tokencount.domain.counting import Counter

COUNT = "/v1/infer/v1/messages/count_tokens"


@pytest.fixture(scope="module")
def http() -> Iterator[urllib3.PoolManager]:
    with urllib3.PoolManager(retries=False, timeout=60) as http:
        yield http


def ask(http: urllib3.PoolManager, server: Server, body: Json) -> tuple[int, Any]:
    """Status and body; of an error, the id in the body is that of the headers."""
    headers = {"authorization": f"Bearer {server.pat}", "content-type": "application/json"}
    answer = http.request("POST", server.url + COUNT, body=json.dumps(body), headers=headers)
    told = answer.json()
    assert answer.headers["request-id"] == answer.headers["x-request-id"]
    assert told.get("request_id", answer.headers["request-id"]) == answer.headers["request-id"]
    return answer.status, told


def asked_of_a_function_that_dies(http: urllib3.PoolManager, stack: Stack) -> tuple[int, Any]:
    assert ask(http, stack, EXAMPLE)[0] == 200
    edges = stack.pools["EdgeFunction"].pids
    for pid in edges:
        os.kill(pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, http, stack, EXAMPLE)
        time.sleep(0.2)  # for the request to get there
        for pid in edges:
            os.kill(pid, signal.SIGKILL)
        return asked.result()


REFUSED: dict[str, tuple[Json, str, str, str]] = {
    "a tool choice without a name": (
        {"tool_choice": {"type": "tool"}},
        "invalid_request",
        "tool_choice.name",
        "tool_choice.name is required",
    ),
    "a tool that Anthropic runs": (
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        "unsupported_parameter",
        "tools.0.type",
        "web_search_20250305 is a tool Anthropic defines or runs",
    ),
    "a document": (
        {"messages": [user({"type": "document", "source": {"type": "text", "data": "x"}})]},
        "unsupported_parameter",
        "messages.0.content.0.type",
        '"document" is not served',
    ),
    "a system message among the others": (
        {"messages": [user("a"), {"role": "system", "content": "b"}]},
        "invalid_request",
        "messages.1.role",
        "messages.1.role must be one of user, assistant",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_served_is_a_400_that_names_it(name: str, http: urllib3.PoolManager, server: Server) -> None:
    change, code, param, words = REFUSED[name]
    status, told = ask(http, server, EXAMPLE | change)
    assert (status, told["type"], told["error"]["type"]) == (400, "error", "invalid_request_error")
    assert told["b3os"] == {"code": code, "param": param}
    assert words in told["error"]["message"]
    assert not re.search(r"None|True|dict|<|\{'", told["error"]["message"])


def test_a_request_that_fits_no_window_is_told_its_exact_count(
    http: urllib3.PoolManager, server: Server, qwen: Counter
) -> None:
    body = request(user("one more word " * 100_000))
    whole = Tokenizer.from_file(str(LAYERS / "qwen3.5-9b" / "model" / "tokenizer.json"))
    prompt = qwen.template.render(to_chat(body, qwen.model.template))
    tokens = len(whole.encode(prompt, add_special_tokens=False))
    status, told = ask(http, server, body)
    assert (status, told["b3os"]["code"]) == (400, "context_length_exceeded")
    assert f"has {tokens} tokens" in told["error"]["message"]
    assert str(qwen.model.context_length) in told["error"]["message"]


def test_what_the_gateway_answers_by_itself_has_a_type_a_message_and_a_request_id(
    http: urllib3.PoolManager, stack: Stack
) -> None:
    answers = (asked_of_a_function_that_dies(http, stack) for _ in range(20))
    # Where it was gone before it was asked, another one answered.
    status, told = next(answer for answer in answers if answer[0] != 200)
    assert (status, told["type"], told["error"]["type"]) == (500, "error", "api_error")
    assert told["request_id"] in told["error"]["message"]
