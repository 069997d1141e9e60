"""The queue behind the requests table, and what stands in locally for Lambda's event source."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_server
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config
from moto import mock_aws

from local import aws
from local.process import Answer
from local.queues import create_queues, failures
from local.stack import ROOT, Stack
from local.template import Template
from recorder.app import Recorder
from tests.support.edge import NOW, MemoryLog
from tests.support.local import TEMPLATE, write_project
from tests.support.logs import ReadableLogger
from tests.support.metrics import metrics_of
from tests.support.records import record
from tokencount.adapters.record_queue import QueuedRequestLog, RecordQueue, read_message
from tokencount.adapters.request_log import DynamoRequestLog, RecordNotKept
from tokencount.domain.ports import RequestLog
from tokencount.domain.records import RecordQuery

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@pytest.fixture
def sqs() -> Iterator["SQSClient"]:
    """SQS with the template's queues."""
    with mock_aws():
        client = boto3.client("sqs", region_name="us-east-1")
        create_queues(Template(ROOT / "template.yaml"), client)
        yield client


def queue(sqs: "SQSClient") -> RecordQueue:
    return RecordQueue(lambda: sqs, "RecordQueue")


def never() -> "SQSClient":
    raise AssertionError("the queue is not needed")


def missing_table() -> DynamoRequestLog:
    return DynamoRequestLog(boto3.client("dynamodb", region_name="us-east-1"), "none", lambda: NOW)


@contextmanager
def silent_table() -> Iterator[DynamoRequestLog]:
    """A table that takes connections and never answers."""
    with create_server(("127.0.0.1", 0)) as server:
        url = "http://{}:{}".format(*server.getsockname())
        config = Config(read_timeout=0.1, connect_timeout=1, retries={"total_max_attempts": 1})
        client = boto3.client("dynamodb", region_name="us-east-1", endpoint_url=url, config=config)
        yield DynamoRequestLog(client, "t", lambda: NOW)


def queued_log(table: RequestLog, queue: RecordQueue, logger: ReadableLogger) -> QueuedRequestLog:
    return QueuedRequestLog(table, queue, logger, metrics_of("edge", logger))


def test_while_the_table_takes_records_no_queue_is_spoken_to() -> None:
    table = MemoryLog()
    log = queued_log(table, RecordQueue(never, "RecordQueue"), ReadableLogger())
    log.put(record())
    assert log.get("req_1") == record().to_dict()
    assert log.find(RecordQuery(project="p")).records == [record().to_dict()]


def test_a_record_that_a_table_does_not_take_is_in_the_queue_whole_and_the_log_says_why(sqs: "SQSClient") -> None:
    logger = ReadableLogger()
    with logger.append_context_keys(request_id="req_2"):  # a later request's
        queued_log(missing_table(), queue(sqs), logger).put(record(user_agent="ü"))
    [message] = sqs.receive_message(QueueUrl="RecordQueue")["Messages"]
    assert read_message(message["Body"]) == record(user_agent="ü")
    [line] = logger.lines
    assert (line["level"], line["request_id"]) == ("WARNING", "req_1")
    assert "RecordNotKept at" in line["fault"]
    assert "ResourceNotFoundException" in line["fault"]


def test_a_table_that_does_not_answer_is_not_waited_for(sqs: "SQSClient", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    logger = ReadableLogger()
    with silent_table() as table:
        queued_log(table, queue(sqs), logger).put(record())
    assert "ReadTimeoutError" in logger.lines[0]["fault"]
    assert len(sqs.receive_message(QueueUrl="RecordQueue")["Messages"]) == 1


def test_a_record_that_neither_takes_is_not_kept(sqs: "SQSClient") -> None:
    sqs.delete_queue(QueueUrl="RecordQueue")
    with pytest.raises(RecordNotKept):
        queued_log(missing_table(), queue(sqs), ReadableLogger()).put(record())


def test_what_the_recorder_writes_is_found_as_the_edge_made_it(sqs: "SQSClient") -> None:
    made = record(status=200, timing={"total": 1.25}, error={"type": "t", "code": "c", "param": None})
    queue(sqs).put(made)
    [message] = sqs.receive_message(QueueUrl="RecordQueue")["Messages"]
    client = boto3.client("dynamodb", region_name="us-east-1")
    template = Template(ROOT / "template.yaml")
    tables = dict(template.resources("AWS::DynamoDB::Table"))
    aws.create_table(client, "RequestsTable", template.resolve(tables["RequestsTable"]))
    table = DynamoRequestLog(client, "RequestsTable", lambda: NOW)
    event = {"Records": [{"messageId": message["MessageId"], "body": message["Body"]}]}
    logger = ReadableLogger()
    recorder = Recorder(table, logger, metrics_of("recorder", logger), lambda: NOW)
    for _ in range(2):
        assert recorder(event, None) == {"batchItemFailures": []}
    assert table.get("req_1") == made.to_dict()
    assert client.scan(TableName="RequestsTable")["Count"] == 1


def test_the_template_s_queues_are_made_with_what_happens_to_a_message(sqs: "SQSClient") -> None:
    made = sqs.get_queue_attributes(QueueUrl="RecordQueue", AttributeNames=["All"])["Attributes"]
    properties = dict(Template(ROOT / "template.yaml").resources("AWS::SQS::Queue"))["RecordQueue"]
    assert made["VisibilityTimeout"] == str(properties["VisibilityTimeout"])
    assert json.loads(made["RedrivePolicy"]) == {
        "deadLetterTargetArn": "arn:aws:sqs:us-east-1:123456789012:UnwrittenRecords",
        "maxReceiveCount": properties["RedrivePolicy"]["maxReceiveCount"],
    }


@pytest.mark.parametrize(
    ("payload", "failed"),
    [
        ("null", []),
        ("{}", []),
        ('{"batchItemFailures": null}', []),
        ('{"batchItemFailures": []}', []),
        ('{"batchItemFailures": [{"itemIdentifier": "b"}]}', ["b"]),
        ('{"batchItemFailures": [{"itemIdentifier": ""}]}', ["a", "b"]),
        ('{"batchItemFailures": [{"itemIdentifier": null}]}', ["a", "b"]),
        ('{"batchItemFailures": [{"itemIdentifier": "c"}]}', ["a", "b"]),
        ('{"batchItemFailures": [{"id": "b"}]}', ["a", "b"]),
        ('{"batchItemFailures": ["b", 5]}', ["a", "b"]),
        ('"text"', ["a", "b"]),
    ],
)
def test_of_an_answer_only_the_messages_it_names_fail_and_all_where_lambda_could_not_read_it(
    payload: str, failed: list[str]
) -> None:
    assert failures(Answer(payload.encode()), ["a", "b"], partial=True) == failed
    assert failures(Answer(payload.encode()), ["a", "b"], partial=False) == []
    assert failures(Answer(b"{}", failed=True), ["a", "b"], partial=True) == ["a", "b"]


QUEUES = """Resources:
  Taker:
    Type: AWS::Serverless::Function
    Properties:
      Handler: taker.handler
      Events:
        Letters:
          Type: SQS
          Properties:
            {Queue: !GetAtt Letters.Arn, BatchSize: 5, FunctionResponseTypes: [ReportBatchItemFailures]}
  Letters:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 1
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3}
  Dead: {Type: AWS::SQS::Queue}
"""
TAKER = """
import json, os

def handler(event, context):
    with open("taken", "a") as file:
        print(json.dumps([record["body"] for record in event["Records"]]), file=file)
    bodies = {record["messageId"]: record["body"] for record in event["Records"]}
    if "crash" in bodies.values() and not os.path.exists("crashed"):
        open("crashed", "w").close()
        os._exit(1)
    failed = [key for key, body in bodies.items() if body == "poison"]
    return {"batchItemFailures": [{"itemIdentifier": key} for key in failed]}
"""


class Letters:
    """A stack whose function takes letters from a queue."""

    def __init__(self, stack: Stack, root: Path) -> None:
        self.sqs = aws.session().client("sqs", endpoint_url=stack.aws_url, config=aws.DIRECT)
        self.root = root

    def send(self, *bodies: str) -> None:
        entries: Any = [{"Id": str(at), "MessageBody": body} for at, body in enumerate(bodies)]
        self.sqs.send_message_batch(QueueUrl="Letters", Entries=entries)

    @property
    def batches(self) -> list[list[str]]:
        """The bodies of each batch that the function was given."""
        taken = self.root / "functions" / "taken"
        return [json.loads(line) for line in taken.read_text().splitlines()] if taken.exists() else []

    def tries(self, body: str) -> int:
        return sum(body in batch for batch in self.batches)

    @property
    def left(self) -> dict[str, int]:
        """How many messages each queue has, whether they can be seen now or not."""
        kinds: Any = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        asked = {
            name: self.sqs.get_queue_attributes(QueueUrl=name, AttributeNames=kinds) for name in ("Letters", "Dead")
        }
        return {name: sum(map(int, reply["Attributes"].values())) for name, reply in asked.items()}


@pytest.fixture
def letters(tmp_path: Path) -> Iterator[Letters]:
    write_project(tmp_path)
    (tmp_path / "template.yaml").write_text(TEMPLATE.replace("Resources:\n", QUEUES, 1))
    (tmp_path / "functions" / "taker.py").write_text(TAKER)
    with Stack(root=tmp_path) as stack:
        yield Letters(stack, tmp_path)


def until(true: Callable[[], bool]) -> None:
    """Waits for it; the test's own timeout ends what never happens."""
    while not true():
        time.sleep(0.05)


def test_messages_are_handled_in_batches_and_then_gone(letters: Letters) -> None:
    letters.send(*"abcdefg")
    until(lambda: letters.left == {"Letters": 0, "Dead": 0})
    assert sorted(body for batch in letters.batches for body in batch) == list("abcdefg")
    assert max(len(batch) for batch in letters.batches) <= 5


def test_a_poison_message_ends_in_the_other_queue_after_its_tries_and_holds_no_other_back(letters: Letters) -> None:
    letters.send("a", "poison", "b")
    until(lambda: letters.left == {"Letters": 0, "Dead": 1})
    assert letters.tries("poison") == 3
    assert letters.tries("a") >= 1
    assert letters.tries("b") >= 1


def test_messages_of_a_function_that_crashed_come_again(letters: Letters) -> None:
    letters.send("crash", "a")
    until(lambda: letters.left == {"Letters": 0, "Dead": 0})
    assert letters.tries("crash") >= 2


def test_a_queue_that_was_away_for_a_while_is_asked_again(letters: Letters) -> None:
    letters.sqs.delete_queue(QueueUrl="Letters")
    time.sleep(1.5)  # it is asked every second
    letters.sqs.create_queue(QueueName="Letters")
    letters.send("a")
    until(lambda: letters.tries("a") == 1)
