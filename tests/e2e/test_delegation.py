"""Image-heavy requests in the running stack: counted at the endpoint, or in the function where it does not answer."""

import importlib.util
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3

from local.endpoint import Endpoint, Fault
from local.stack import CONTAINER, ROOT, Stack
from tests.fuzz.pictures import png
from tests.support.requests import EXAMPLE, Json, count, image, picture, request, text, user
from tokencount.domain.counting import Counter

# One stack of each kind for the whole run.
pytestmark = pytest.mark.xdist_group("delegation")

STAND_IN = "tests.support.endpoint_container"
HEAVY = request(user(text("hi"), *(image(picture(50, 20 + side)) for side in range(8))))
LIGHT = request(user(text("hi"), image(picture(50, 50))))
# Good headers and no picture behind them.
BROKEN = request(user(*(image(picture(50, 50)) for _ in range(7)), text("hi"), image(picture(64, 64)[:60])))
FAULTS: list[Fault] = ["throttled", "loading", "no capacity", "unavailable", "absent", "crashing"]


class Client:
    """Asks a stack; `record` and `line` are what the request log and the counter's log hold of the last request."""

    record: Any
    line: Any

    def __init__(self, stack: Stack, logs: Path) -> None:
        self.stack = stack
        self.logs = logs

    @property
    def endpoint(self) -> Endpoint:
        [endpoint] = self.stack.endpoints.values()
        return endpoint

    def send(self, body: Json) -> tuple[int, Any]:
        """Status and body of the answer."""
        answer = self._ask("POST", "/v1/infer/v1/messages/count_tokens", json.dumps(body))
        request_id = answer.headers["request-id"]
        self.headers = answer.headers
        self.phases = [entry.split(";")[0] for entry in answer.headers["server-timing"].split(", ")]
        self.record = self._ask("GET", f"/v1/requests/{request_id}").json()
        assert set(self.record["timing"]) == set(self.phases)
        logged = [line for line in self._logged("Qwen35Counter") if line.get("message") == "counted"]
        [self.line] = [line for line in logged if line["request_id"] == request_id]
        return answer.status, answer.json()

    def _logged(self, name: str) -> list[Any]:
        written = (self.logs / f"{name}.log").read_text("utf-8")
        return [json.loads(line) for line in written.splitlines() if line.startswith("{")]

    def _ask(self, method: str, path: str, body: str | None = None) -> urllib3.BaseHTTPResponse:
        headers = {"authorization": f"Bearer {self.stack.api_key}", "content-type": "application/json"}
        return urllib3.request(method, self.stack.url + path, body=body, headers=headers, retries=False, timeout=60)


@contextmanager
def running(root: Path, container: str) -> Iterator[Client]:
    with Stack(root=root, state=root / "state", endpoint=container) as stack:
        yield Client(stack, root / "state" / "logs")


def clone(root: Path, *, fallback: bool) -> Path:
    """The repository with the models that may have an endpoint: 8 seconds for counters, and a fallback or none."""
    for name in ("functions", "layers"):
        (root / name).symlink_to(ROOT / name)
    template = (ROOT / "template.yaml").read_text("utf-8")
    assert template.count("Timeout: 26") == 1
    (root / "template.yaml").write_text(template.replace("Timeout: 26", "Timeout: 8"), "utf-8")
    for built in (ROOT / ".build" / "layers").glob("*/model"):
        data = json.loads((built / "model.json").read_bytes())
        if data["endpoint"] is None:
            continue
        model = root / built.relative_to(ROOT)
        shutil.copytree(built, model, copy_function=os.symlink)
        data["endpoint"] |= {"fallback": fallback}
        (model / "model.json").unlink()
        (model / "model.json").write_text(json.dumps(data), "utf-8")
    return root


@pytest.fixture(scope="module")
def lenient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(clone(tmp_path_factory.mktemp("lenient"), fallback=True), STAND_IN) as client:
        yield client


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(clone(tmp_path_factory.mktemp("strict"), fallback=False), STAND_IN) as client:
        yield client


@pytest.fixture
def client(lenient: Client) -> Iterator[Client]:
    """Of a model that may be counted in the function instead; the endpoint is sound."""
    lenient.endpoint.fault, lenient.endpoint.delay = None, 0
    yield lenient
    lenient.endpoint.fault, lenient.endpoint.delay = None, 0


def test_a_heavy_request_is_counted_at_the_endpoint_and_record_timing_and_log_say_so(
    client: Client, qwen: Counter
) -> None:
    assert client.send(HEAVY) == (200, {"input_tokens": count(qwen, HEAVY)})
    assert (client.record["route"], client.record["images"]["count"]) == ("endpoint", 8)
    assert client.record["tokenizer_revision"] == qwen.model.tokenizer_revision
    assert client.phases == ["edge_auth", "edge_upstream", "parse", "image", "endpoint", "total"]
    assert (client.line["route"], client.line["reason"]) == ("endpoint", "8 images")


@pytest.mark.parametrize(("body", "reason"), [(LIGHT, "light in images"), (EXAMPLE, "no images")])
def test_a_light_request_is_counted_in_the_function(client: Client, qwen: Counter, body: Json, reason: str) -> None:
    assert client.send(body) == (200, {"input_tokens": count(qwen, body)})
    assert client.record["route"] == "function"
    assert "endpoint" not in client.phases
    assert client.line["reason"] == reason


def test_the_endpoint_s_log_has_the_request_s_id(client: Client) -> None:
    client.send(HEAVY)
    assert client.record["id"] in (client.logs / "Qwen35Endpoint.log").read_text("utf-8")


@pytest.mark.parametrize("fault", FAULTS)
def test_an_endpoint_that_fails_is_made_up_for_and_record_timing_and_log_say_so(
    client: Client, qwen: Counter, fault: Fault
) -> None:
    client.endpoint.fault = fault
    assert client.send(HEAVY) == (200, {"input_tokens": count(qwen, HEAVY)})
    assert client.record["route"] == "fallback"
    assert client.phases == ["edge_auth", "edge_upstream", "parse", "image", "render", "encode", "endpoint", "total"]
    assert client.line["reason"].startswith("8 images; ")


def test_an_endpoint_that_is_too_slow_is_not_waited_for_until_the_function_s_own_end(client: Client) -> None:
    client.endpoint.delay = 60
    status, _ = client.send(HEAVY)
    assert (status, client.record["route"], client.line["reason"]) == (200, "fallback", "8 images; TimeoutError")


def test_a_container_that_crashed_is_started_again(client: Client) -> None:
    client.endpoint.fault = "crashing"
    client.send(HEAVY)
    client.endpoint.fault = None
    client.send(HEAVY)
    assert client.record["route"] == "endpoint"


@pytest.mark.parametrize("fault", FAULTS)
def test_where_no_fallback_is_allowed_it_is_a_503_that_says_when_to_come_back(strict: Client, fault: Fault) -> None:
    strict.endpoint.fault = fault
    status, body = strict.send(HEAVY)
    assert (status, body["type"], body["error"]["type"]) == (503, "error", "overloaded_error")
    assert (body["b3os"]["code"], body["request_id"]) == ("infer_backend_unavailable", strict.record["id"])
    assert strict.headers["retry-after"] == "5"
    assert (strict.record["status"], strict.record["route"]) == (503, None)
    assert strict.record["error"]["code"] == "infer_backend_unavailable"
    assert strict.line["reason"].startswith("8 images; ")


def test_an_image_that_cannot_be_decoded_is_the_client_s_error_at_the_endpoint_alone(client: Client) -> None:
    status, body = client.send(BROKEN)
    assert (status, body["b3os"]["code"]) == (400, "invalid_request")
    assert body["b3os"]["param"] == "messages.0.content.8.source.data"
    assert client.record["error"]["param"] == "messages.0.content.8.source.data"
    client.endpoint.fault = "throttled"
    status, _ = client.send(BROKEN)
    assert (status, client.record["route"]) == (200, "fallback")


def test_the_context_length_holds_at_the_endpoint_too(client: Client, qwen: Counter) -> None:
    length = qwen.model.context_length
    long = HEAVY | {"system": "a " * length}
    status, body = client.send(long)
    assert (status, body["b3os"]["code"]) == (400, "context_length_exceeded")
    assert "endpoint" in client.phases
    assert str(length) in body["error"]["message"]


def test_a_hostile_image_is_never_sent(client: Client) -> None:
    client.endpoint.fault = "absent"
    huge = request(user(*(image(picture(50, 50)) for _ in range(8)), image(png(30_000, 30_000))))
    status, _ = client.send(huge)
    assert (status, client.record["route"]) == (200, "function")
    assert client.line["reason"] == "an image of 900 megapixels"


@pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None, reason="the endpoint's packages are not installed"
)
def test_the_real_container_counts_the_same_and_refuses_the_same(tmp_path: Path, qwen: Counter) -> None:
    with running(clone(tmp_path, fallback=False), CONTAINER) as client:
        assert client.send(HEAVY) == (200, {"input_tokens": count(qwen, HEAVY)})
        assert client.record["route"] == "endpoint"
        status, body = client.send(BROKEN)
        assert (status, body["b3os"]["param"]) == (400, "messages.0.content.8.source.data")
