"""From queued messages to the table: each for itself, and only what was not written comes again."""

import json
from typing import Any

import pytest

from recorder.app import Recorder
from tests.support.edge import NOW, MemoryLog
from tests.support.logs import ReadableLogger
from tests.support.metrics import metrics_of
from tests.support.records import record
from tokencount.adapters.request_log import RecordNotKept
from tokencount.domain.records import RequestRecord


class Refusing(MemoryLog):
    """A table that does not take some records."""

    def __init__(self, *refused: str) -> None:
        super().__init__()
        self.refused = refused

    def put(self, record: RequestRecord) -> None:
        if record.id in self.refused:
            raise RecordNotKept(record.id)
        super().put(record)


def recorder_of(table: MemoryLog, logger: ReadableLogger | None = None) -> Recorder:
    logger = logger or ReadableLogger()
    return Recorder(table, logger, metrics_of("recorder", logger), lambda: NOW)


def event(*bodies: str) -> dict[str, Any]:
    return {"Records": [{"messageId": f"message-{at}", "body": body} for at, body in enumerate(bodies)]}


def body(record_id: str) -> str:
    return json.dumps(record(id=record_id).to_dict())


def failed(*messages: int) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": f"message-{at}"} for at in messages]}


def test_every_record_of_a_batch_is_written() -> None:
    table = MemoryLog()
    assert recorder_of(table)(event(body("req_a"), body("req_b")), None) == failed()
    assert table == {"req_a": record(id="req_a"), "req_b": record(id="req_b")}


def test_a_batch_that_comes_again_changes_nothing() -> None:
    table = MemoryLog()
    recorder = recorder_of(table)
    assert [recorder(event(body("req_a")), None) for _ in range(2)] == [failed()] * 2
    assert table == {"req_a": record(id="req_a")}


def test_only_what_the_table_does_not_take_comes_again() -> None:
    table = Refusing("req_b")
    assert recorder_of(table)(event(body("req_a"), body("req_b"), body("req_c")), None) == failed(1)
    assert list(table) == ["req_a", "req_c"]


@pytest.mark.parametrize("poison", ["", "text", "null", "[]", "{}", '{"images": {}}', "[" * 100_000])
def test_a_message_that_is_no_record_holds_no_other_back(poison: str) -> None:
    table = MemoryLog()
    assert recorder_of(table)(event(poison, body("req_a")), None) == failed(0)
    assert list(table) == ["req_a"]


def test_what_was_written_is_logged_by_its_id_and_what_was_not_by_its_message_without_its_text() -> None:
    logger = ReadableLogger()
    recorder_of(MemoryLog(), logger)(event('{"MARKER": 1}', body("req_a")), None)
    refused, written = logger.lines
    assert (refused["level"], refused["message_id"]) == ("ERROR", "message-0")
    assert (written["level"], written["request_id"]) == ("INFO", "req_a")
    assert "MARKER" not in logger.text.getvalue()
