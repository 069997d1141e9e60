"""One line of metrics for each request or batch, by CloudWatch's format, which costs no answer and holds no content."""

import io
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from recorder.app import Recorder
from tests.support.counter import CounterUnderTest
from tests.support.edge import KEY, EdgeUnderTest, MemoryLog, credential
from tests.support.logs import ReadableLogger
from tests.support.metrics import NAMESPACE, lines, measured, metrics_of
from tests.support.records import record
from tests.support.requests import EXAMPLE, image, picture, request, user
from tokencount.adapters.record_queue import QueuedRequestLog, RecordQueue
from tokencount.adapters.request_log import RecordNotKept
from tokencount.adapters.settings import BadSetting, MetricsSettings
from tokencount.domain.counting import Counter
from tokencount.domain.delegation import EndpointUnavailable
from tokencount.domain.moments import read_moment
from tokencount.domain.ports import NodeAnswer
from tokencount.domain.records import RequestRecord

COUNT = "/v1/infer/v1/messages/count_tokens"
BODY = {"model": "b3os/tiny", "messages": [{"role": "user", "content": "MARKER"}]}
EDGE = (("service", "edge"),)
VERSION = (("service", "edge"), ("version", "7"))


def values(line: dict[str, Any]) -> dict[tuple[str, tuple[tuple[str, str], ...]], tuple[float, ...]]:
    """The values of a line's metrics by name and dimensions."""
    return {(each.name, each.dimensions): each.values for each in measured(line)}


def test_an_answer_is_counted_timed_by_the_edge_s_own_phases_and_told_by_its_id(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = EdgeUnderTest().send("POST", COUNT, BODY)
    [line] = lines(capsys.readouterr().out)
    assert line["request_id"] == answer["headers"]["x-request-id"]
    found = values(line)
    phases = {("edge_auth", EDGE), ("edge_upstream", EDGE), ("total", EDGE)}
    assert found.keys() - phases == {("Answers", EDGE), ("Faults", EDGE), ("Faults", VERSION), ("ColdStarts", EDGE)}
    assert phases < found.keys()
    assert (found["Answers", EDGE], found["Faults", EDGE], found["Faults", VERSION]) == ((1.0,), (0.0,), (0.0,))
    assert {each.unit for each in measured(line) if (each.name, EDGE) in phases} == {"Milliseconds"}


def test_a_line_is_cloudwatch_s_format_with_every_metric_defined_once_for_its_dimensions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    EdgeUnderTest().send("POST", COUNT, BODY, headers={})
    [line] = lines(capsys.readouterr().out)
    assert isinstance(line["_aws"]["Timestamp"], int)
    for directive in line["_aws"]["CloudWatchMetrics"]:
        assert directive.keys() == {"Namespace", "Dimensions", "Metrics"}
        assert directive["Namespace"] == NAMESPACE
    found = [(each.name, each.dimensions) for each in measured(line)]
    assert len(found) == len(set(found))


def test_an_error_is_counted_by_its_code_whether_the_edge_or_the_counter_found_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    edge = EdgeUnderTest()
    edge.send("POST", COUNT, BODY, headers={})
    details = '{"error": {"type": "invalid_request_error", "code": "context_length_exceeded", "param": null}}'
    edge.node.answer = NodeAnswer(400, "{}", {"x-b3os-details": details})
    edge.send("POST", COUNT, BODY)
    refused, too_long = lines(capsys.readouterr().out)
    for line, code in ((refused, "unauthorized"), (too_long, "context_length_exceeded")):
        found = values(line)
        assert found["Errors", (("code", code), ("service", "edge"))] == (1.0,)
        assert found["Faults", EDGE] == (0.0,)


def test_only_an_answer_that_is_our_fault_is_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    edge = EdgeUnderTest()
    for status in (200, 400, 429, 500, 503):
        edge.node.answer = NodeAnswer(status, '{"input_tokens":1}', {})
        edge.send("POST", COUNT, BODY)
    found = [values(line)["Faults", VERSION] for line in lines(capsys.readouterr().out)]
    assert found == [(0.0,), (0.0,), (0.0,), (1.0,), (1.0,)]


def test_a_record_that_is_kept_nowhere_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(record: RequestRecord) -> None:
        raise RecordNotKept(record.id)

    edge = EdgeUnderTest()
    edge.log.put = fail  # type: ignore[method-assign]
    edge.send("POST", COUNT, BODY)
    [line] = lines(capsys.readouterr().out)
    assert values(line)["RecordsLost", EDGE] == (1.0,)


def test_a_record_that_is_queued_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    class Full(MemoryLog):
        def put(self, record: RequestRecord) -> None:
            raise RecordNotKept(record.id)

    class Queue(RecordQueue):
        def __init__(self) -> None:
            pass

        def put(self, record: RequestRecord) -> None:
            pass

    edge = EdgeUnderTest()
    queued = QueuedRequestLog(Full(), Queue(), edge.logger, edge.metrics)
    edge.log.put = queued.put  # type: ignore[method-assign]
    edge.send("POST", COUNT, BODY)
    [line] = lines(capsys.readouterr().out)
    assert values(line)["RecordsQueued", EDGE] == (1.0,)


@pytest.mark.parametrize(("restored", "name"), [(True, "Restores"), (False, "ColdStarts")])
def test_an_environment_s_first_request_alone_tells_of_its_start_a_restore_apart(
    restored: bool, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    edge = EdgeUnderTest(metrics=metrics_of("edge", ReadableLogger(), restored=restored))
    for _ in range(3):
        edge.send("POST", COUNT, BODY)
    starts = [
        [each.name for each in measured(line) if each.name in {"Restores", "ColdStarts"}]
        for line in lines(capsys.readouterr().out)
    ]
    assert starts == [[name], [], []]


class Answering:
    """An endpoint that gives one answer."""

    def __init__(self, answer: int | Exception) -> None:
        self.answer = answer

    def count(self, body: bytes, request_id: str, seconds_left: float) -> int:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


HEAVY = request(user(*[image(picture(64, 32))] * 8))


@pytest.mark.parametrize(
    ("endpoint", "sent", "expected"),
    [
        (None, EXAMPLE, {"CountedByFunction"}),
        (Answering(9), HEAVY, {"CountedByEndpoint"}),
        (Answering(EndpointUnavailable("ThrottlingException")), HEAVY, {"CountedByFallback", "EndpointFailures"}),
    ],
    ids=["function", "endpoint", "fallback"],
)
def test_a_count_is_counted_by_who_made_it_and_timed_by_the_counter_s_phases(
    endpoint: Answering | None, sent: Any, expected: set[str], qwen: Counter, capsys: pytest.CaptureFixture[str]
) -> None:
    counter = CounterUnderTest(qwen, endpoint)
    answer = counter.send(sent)
    [line] = lines(capsys.readouterr().out)
    assert line["request_id"] == "req_1"
    assert {name for name, _ in values(line) if name.startswith(("CountedBy", "Endpoint"))} == expected
    phases = {each.name for each in measured(line) if each.unit == "Milliseconds"}
    assert phases == {entry.split(";")[0] for entry in answer["headers"]["server-timing"].split(", ")}


def test_an_endpoint_that_must_count_and_cannot_is_a_failure_of_its_own(
    qwen: Counter, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = replace(qwen.model.endpoint, fallback=False) if qwen.model.endpoint else None
    strict = replace(qwen, model=replace(qwen.model, endpoint=policy))
    assert CounterUnderTest(strict, Answering(EndpointUnavailable("down"))).send(HEAVY)["status"] == 503
    [line] = lines(capsys.readouterr().out)
    found = values(line)
    service = (("service", "counter-tiny"),)
    assert (found["EndpointFailures", service], found["Faults", service]) == ((1.0,), (1.0,))
    assert not [name for name, _ in found if name.startswith("CountedBy")]


def test_a_batch_of_records_is_one_line_with_the_age_of_each_that_was_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = read_moment(record().created_at) + timedelta(seconds=90)
    logger = ReadableLogger()
    recorder = Recorder(MemoryLog(), logger, metrics_of("recorder", logger), lambda: now)
    bodies = [json.dumps(record(id="req_a").to_dict()), json.dumps(record(id="req_b").to_dict()), "no record"]
    recorder({"Records": [{"messageId": body[:5], "body": body} for body in bodies]}, None)
    [line] = lines(capsys.readouterr().out)
    found = values(line)
    service = (("service", "recorder"),)
    assert found["RecordAge", service] == (90.0, 90.0)
    assert found["Faults", service] == (0.0, 0.0, 1.0)


def test_an_answer_leaves_though_its_metrics_cannot_be_written_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    edge = EdgeUnderTest()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", Closed())
        answers = [edge.send("POST", COUNT, BODY)["statusCode"] for _ in range(2)]
    assert answers == [200, 200]
    faults = [line["fault"] for line in edge.logger.lines if line["message"] == "the metrics were not written"]
    assert len(faults) == 2
    assert "BrokenPipeError at" in faults[0]


def test_a_line_is_written_in_one_piece_so_that_no_other_thread_s_comes_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Pieces(io.StringIO):
        def __init__(self) -> None:
            super().__init__()
            self.written: list[str] = []

        def write(self, text: str) -> int:
            self.written.append(text)
            return len(text)

    metrics, output = metrics_of("edge", ReadableLogger()), Pieces()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", output)
        for _ in range(2):
            metrics.answered(200)
            metrics.write()
    assert [(piece.count("\n"), piece[-1]) for piece in output.written] == [(1, "\n")] * 2


def test_what_threads_add_while_lines_are_written_is_in_one_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    metrics, each, threads = metrics_of("edge", ReadableLogger()), 300, 3

    def add(thread: int) -> None:
        for number in range(each):
            metrics.add("Errors", code=f"{thread}-{number}")

    with ThreadPoolExecutor(threads) as pool:
        adding = [pool.submit(add, thread) for thread in range(threads)]
        while not all(one.done() for one in adding):
            metrics.answered(200)
            metrics.write()
    metrics.answered(200)
    metrics.write()
    found = [one for line in lines(capsys.readouterr().out) for one in measured(line) if one.name == "Errors"]
    assert sorted(len(one.values) for one in found) == [1] * (each * threads)


def test_what_a_line_did_not_take_is_not_in_the_next_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    edge = EdgeUnderTest()
    with monkeypatch.context() as patched:
        patched.setattr(json, "dumps", lambda *_, **__: 1 / 0)
        edge.metrics.answered(200)
        edge.metrics.write()
    capsys.readouterr()
    edge.send("POST", COUNT, BODY)
    [line] = lines(capsys.readouterr().out)
    assert values(line)["Answers", EDGE] == (1.0,)


def test_no_dimension_tells_of_a_caller_and_no_line_of_content(capsys: pytest.CaptureFixture[str]) -> None:
    edge = EdgeUnderTest()
    edge.send("POST", COUNT, BODY)
    edge.send("POST", COUNT, BODY | {"model": "MARKER"})
    edge.send("GET", "/MARKER")
    output = capsys.readouterr().out
    dimensions = {name for line in lines(output) for each in measured(line) for name, _ in each.dimensions}
    assert dimensions == {"service", "version", "code"}
    assert "MARKER" not in output
    held = credential()
    assert not [word for word in (held.organization, held.project, held.id, KEY.reveal()) if word in output]


def test_where_a_function_s_metrics_belong_is_read_of_lambda_s_variables() -> None:
    known = {"POWERTOOLS_METRICS_NAMESPACE": "Tokencount/a", "POWERTOOLS_SERVICE_NAME": "edge"}
    lambdas = {"AWS_LAMBDA_FUNCTION_VERSION": "12", "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}
    assert MetricsSettings.from_env(known | lambdas) == MetricsSettings("Tokencount/a", "edge", "12", restored=True)
    on_demand = lambdas | {"AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand"}
    assert not MetricsSettings.from_env(known | on_demand).restored
    for name in known:
        with pytest.raises(BadSetting, match=name):
            MetricsSettings.from_env({key: value for key, value in known.items() if key != name})
