"""The adapters that speak to AWS, against moto: what they write they read back, and AWS's errors end in them."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from threading import Event
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError, ReadTimeoutError
from moto import mock_aws

from tests.support.edge import NOW, credential
from tests.support.records import record
from tokencount.adapters.credentials import CredentialStore
from tokencount.adapters.node_tokens import KeysUnavailable, NodeKeys, NodeTokens
from tokencount.adapters.nodes import MAX_EVENT_BYTES, LambdaNodes
from tokencount.adapters.request_log import DynamoRequestLog, RecordNotKept
from tokencount.adapters.secrets import NodeKeySecret
from tokencount.domain.credentials import new_secret
from tokencount.domain.errors import NodeUnavailable, PayloadTooLarge
from tokencount.domain.ports import Caller
from tokencount.domain.records import ImageTotals

CALLER = Caller("org", "proj", ("infer:run",), "req_1")


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield


@pytest.fixture
def dynamodb() -> Any:
    client = boto3.client("dynamodb")
    client.create_table(
        TableName="t",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return client


@pytest.mark.parametrize("changes", [{}, {"expires_at": NOW + timedelta(days=1), "revoked_at": NOW}])
def test_a_credential_is_found_by_its_secret_alone(changes: dict[str, Any], dynamodb: Any) -> None:
    store, secret, stored = CredentialStore(dynamodb, "t"), new_secret("sk"), credential(**changes)
    store.add(secret, stored)
    found = store.find(secret)
    assert found is not None
    assert replace(found, scopes=list(found.scopes)) == stored
    assert store.find(new_secret("sk")) is None


def test_of_a_credential_nothing_that_opens_anything_is_stored(dynamodb: Any) -> None:
    secret = new_secret("sk")
    CredentialStore(dynamodb, "t").add(secret, credential())
    stored = str(dynamodb.scan(TableName="t")["Items"])
    assert secret.digest in stored
    assert secret.reveal().split("_")[2] not in stored


def test_a_record_is_read_back_as_it_was_written(dynamodb: Any) -> None:
    log = DynamoRequestLog(dynamodb, "t", lambda: NOW)
    full = record(
        status=200, input_tokens=27, route="function", images=ImageTotals(1, 2, 0, 4),
        timing={"parse": 1.25, "total": 2.0},
        error={"type": "t", "code": "c", "param": None}, model="m", tokenizer_revision="r", user_agent="ü",
    )  # fmt: skip
    for written in (full, record()):
        log.put(written)
        assert log.get("req_1") == written.to_dict()
    assert log.get("req_2") is None


def test_a_table_that_does_not_answer_is_told_in_the_domain_s_words() -> None:
    missing = boto3.client("dynamodb")
    with pytest.raises(NodeUnavailable) as refusal:
        CredentialStore(missing, "none").find(new_secret("sk"))
    assert refusal.value.retry_after == 5
    with pytest.raises(NodeUnavailable):
        DynamoRequestLog(missing, "none", lambda: NOW).get("req_1")
    with pytest.raises(RecordNotKept):
        DynamoRequestLog(missing, "none", lambda: NOW).put(record())


def test_the_keys_of_node_tokens_are_read_by_the_name_of_their_secret() -> None:
    text = '{"current": "a", "a": "' + "k" * 64 + '"}'
    boto3.client("secretsmanager").create_secret(Name="keys", SecretString=text)
    assert NodeKeySecret("keys").read() == NodeKeys("a", {"a": "k" * 64})
    with pytest.raises(KeysUnavailable, match="cannot be read"):
        NodeKeySecret("none").read()


class Lambda:
    """A Lambda client that answers with bytes, or raises."""

    def __init__(self, reply: bytes | Exception) -> None:
        self.reply = reply
        self.sent = b""

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - boto3's names
        self.sent = Payload
        if isinstance(self.reply, Exception):
            raise self.reply
        return {"Payload": BytesIO(self.reply)}


def nodes(reply: bytes | Exception, kind: type[Lambda] = Lambda) -> tuple[LambdaNodes, Lambda]:
    keys = NodeKeys("a", {"a": "k" * 64})
    client = kind(reply)
    tokens = NodeTokens(keys, lambda: keys)
    return LambdaNodes(client, {"m": "counter:live"}, tokens), client  # type: ignore[arg-type]


def test_a_counter_s_answer_is_read_with_its_headers_in_lower_case() -> None:
    sender, _ = nodes(b'{"statusCode": 200, "headers": {"Server-Timing": "a;dur=1"}, "body": "{}"}')
    answer = sender.count("m", "{}", CALLER, 26)
    assert (answer.status, answer.body, answer.headers) == (200, "{}", {"server-timing": "a;dur=1"})


def test_what_is_sent_on_is_not_larger_than_what_was_received() -> None:
    sender, client = nodes(b'{"statusCode": 200, "body": "{}"}')
    body = '{"text": "' + "你好😀" * 1000 + '"}'
    sender.count("m", body, CALLER, 26)
    assert len(client.sent) < len(body.encode()) + 1500
    assert "你好😀".encode() in client.sent


def test_a_body_that_escaping_makes_larger_than_lambda_takes_is_413_and_not_sent() -> None:
    sender, client = nodes(b"")
    with pytest.raises(PayloadTooLarge, match=f"once escaped; this service accepts at most {MAX_EVENT_BYTES}"):
        sender.count("m", '"' * (MAX_EVENT_BYTES // 2), CALLER, 26)
    assert not client.sent


@pytest.mark.parametrize(
    "reply",
    [
        b'{"errorMessage": "Task timed out after 26.00 seconds"}',
        b'{"errorType": "Runtime.ExitError", "errorMessage": "RequestId: x Error: Runtime exited"}',
        b"null",
        b"no json",
        b'"2026-07-26T12:00:00Z Task timed out"',
        b'{"statusCode": 401, "body": "{}"}',
        ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke"),
        EndpointConnectionError(endpoint_url="http://x"),
        ReadTimeoutError(endpoint_url="http://x"),
    ],
)
def test_a_counter_that_crashes_times_out_or_refuses_is_unavailable(reply: bytes | Exception) -> None:
    sender, _ = nodes(reply)
    with pytest.raises(NodeUnavailable, match="m is unavailable; retry in 5 seconds") as refusal:
        sender.count("m", "{}", CALLER, 26)
    assert refusal.value.retry_after == 5


def test_a_counter_that_takes_longer_than_the_request_has_is_unavailable() -> None:
    answered = Event()

    class Slow(Lambda):
        def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - boto3's names
            answered.wait()
            return super().invoke(FunctionName, Payload)

    sender, _ = nodes(b"", Slow)
    try:
        with pytest.raises(NodeUnavailable):
            sender.count("m", "{}", CALLER, 0.01)
    finally:
        answered.set()


def test_a_connection_that_idled_too_long_is_replaced_by_another() -> None:
    class Purged(Lambda):
        def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - boto3's names
            if not self.sent:
                self.sent = Payload
                raise ConnectionClosedError(endpoint_url="http://x")
            return super().invoke(FunctionName, Payload)

    sender, _ = nodes(b'{"statusCode": 200, "body": "{}"}', Purged)
    assert sender.count("m", "{}", CALLER, 26).status == 200


def test_a_model_without_a_counter_is_unavailable() -> None:
    sender, _ = nodes(b"")
    with pytest.raises(NodeUnavailable):
        sender.count("other", "{}", CALLER, 26)
