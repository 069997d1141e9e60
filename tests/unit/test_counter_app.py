"""The counter function's part of the contract: node tokens, its errors' shape, what it tells the edge and logs."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.counter import CALLER, KEYS, CounterUnderTest, no_refresh
from tests.support.requests import EXAMPLE, QWEN, image, picture, request, text, user
from tokencount.adapters.node_tokens import NodeKeys, NodeTokens
from tokencount.domain.counting import Counter
from tokencount.domain.ports import Caller


@pytest.fixture
def counter(qwen: Counter) -> CounterUnderTest:
    return CounterUnderTest(qwen)


def test_the_example_counts_27_as_plain_json(counter: CounterUnderTest) -> None:
    answer = counter.send(EXAMPLE)
    assert (answer["statusCode"], answer["isBase64Encoded"]) == (200, False)
    assert json.loads(answer["body"]) == {"input_tokens": 27}
    assert answer["headers"]["content-type"] == "application/json"
    phases = [entry.split(";")[0] for entry in answer["headers"]["server-timing"].split(", ")]
    assert phases == ["parse", "render", "encode"]


def test_the_edge_is_told_what_the_record_needs(counter: CounterUnderTest, qwen: Counter) -> None:
    data = picture(64, 32)
    details = counter.send(request(user(text("a"), image(data), image(data))))["details"]
    assert details == {
        "route": "function",
        "images": {"count": 2, "bytes": 2 * len(data), "remote_bytes": 0, "pixels": 2 * 64 * 32},
        "tokenizer_revision": qwen.model.tokenizer_revision,
    }


def test_an_error_has_the_anthropic_shape_and_tells_the_edge_only_the_schema_s_part_of_its_path(
    counter: CounterUnderTest,
) -> None:
    answer = counter.send(EXAMPLE | {"messages": [user(text("a") | {"my key": 1})]})
    assert json.loads(answer["body"])["b3os"] == {
        "code": "unsupported_parameter",
        "param": "messages.0.content.0.my key",
    }
    error = {"type": "invalid_request_error", "code": "unsupported_parameter", "param": "messages.0.content.0"}
    assert answer["details"]["error"] == error


def tokens(**changes: Any) -> str:
    made: dict[str, Any] = {"keys": KEYS, "caller": CALLER, "now": datetime.now(UTC)} | changes
    return NodeTokens(made["keys"], no_refresh, lambda: made["now"]).sign(made["caller"])


@pytest.mark.parametrize(
    "token",
    [
        "",
        "nonsense",
        tokens(now=datetime.now(UTC) - timedelta(seconds=61)),
        tokens(keys=NodeKeys("a", {"a": "f" * 64})),
        tokens(keys=NodeKeys("z", {"z": "k" * 64})),
        tokens(caller=Caller("org", "proj", (), "req_2")),
        "eyJhbGciOiJub25lIiwia2lkIjoiYSJ9.eyJyZXF1ZXN0X2lkIjoicmVxXzEifQ.",
    ],
    ids=["missing", "nonsense", "expired", "forged", "unknown key", "another request's", "unsigned"],
)
def test_without_a_valid_node_token_nothing_is_counted(token: str, counter: CounterUnderTest) -> None:
    answer = counter.send(EXAMPLE, token=token)
    assert answer["statusCode"] == 401
    assert "input_tokens" not in answer["body"]


def test_a_fault_of_ours_is_a_500_without_content_in_answer_or_log(qwen: Counter) -> None:
    class Broken:
        def count(self, text: str) -> int:
            raise RuntimeError(text)

    broken = CounterUnderTest(Counter(qwen.model, qwen.template, Broken(), qwen.read_images))
    answer = broken.send({"model": QWEN, "messages": [user("MARKER-CONTENT")]})
    assert answer["statusCode"] == 500
    assert "RuntimeError at" in broken.logger.lines[0]["fault"]
    assert "MARKER-CONTENT" not in json.dumps([broken.logger.lines, answer])


def test_every_line_of_the_log_has_the_request_id_and_none_has_content(counter: CounterUnderTest) -> None:
    for body in (request(user("MARKER-CONTENT")), {"model": QWEN, "MARKER-CONTENT": 1}, "MARKER-CONTENT"):
        counter.send(body)
    assert [line["request_id"] for line in counter.logger.lines] == ["req_1"] * 3
    assert "MARKER" not in json.dumps(counter.logger.lines)
