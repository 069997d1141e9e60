"""SQS: the queues of template.yaml, and what Lambda's event source does with them, one batch at a time."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from local.pool import Pool
from local.process import Answer
from local.template import PSEUDO, EventSource, Template

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType
    from mypy_boto3_sqs.type_defs import MessageTypeDef

ATTRIBUTES: "list[QueueAttributeNameType]" = ["VisibilityTimeout", "MessageRetentionPeriod", "SqsManagedSseEnabled"]
IDLE_SECONDS = 1.0


def create_queues(template: Template, sqs: "SQSClient") -> None:
    """Create the template's queues, each after the one that takes what it gives up."""
    queues = dict(template.resources("AWS::SQS::Queue"))
    for name in sorted(queues, key=lambda name: "RedrivePolicy" in queues[name]):
        properties = queues[name]
        wanted = {key: json.dumps(properties[key]) for key in ATTRIBUTES if key in properties}
        if redrive := template.resolve(properties.get("RedrivePolicy")):
            redrive["deadLetterTargetArn"] = arn(redrive["deadLetterTargetArn"])
            wanted["RedrivePolicy"] = json.dumps(redrive)
        sqs.create_queue(QueueName=name, Attributes=wanted)


def arn(queue: str) -> str:
    """The ARN the queue would have."""
    return f"arn:aws:sqs:{PSEUDO['AWS::Region']}:{PSEUDO['AWS::AccountId']}:{queue}"


@asynccontextmanager
async def polled(sources: Sequence[EventSource], pools: Mapping[str, Pool], sqs: "SQSClient") -> AsyncIterator[None]:
    """Has the messages of these queues handled by their functions meanwhile."""
    tasks = [asyncio.create_task(_poll(source, pools[source.function], sqs)) for source in sources]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _poll(source: EventSource, pool: Pool, sqs: "SQSClient") -> None:
    while True:
        try:
            if not await _next_batch(source, pool, sqs):
                await asyncio.sleep(IDLE_SECONDS)
        except (BotoCoreError, ClientError):  # the queue may be taken away for a while: Lambda keeps asking as well
            await asyncio.sleep(IDLE_SECONDS)


async def _next_batch(source: EventSource, pool: Pool, sqs: "SQSClient") -> bool:
    """Whether there was one. What is not deleted shows up again when its visibility timeout is over."""
    reply = await asyncio.to_thread(
        sqs.receive_message,
        QueueUrl=source.queue,
        MaxNumberOfMessages=source.batch_size,
        MessageSystemAttributeNames=["All"],
    )
    if not (messages := reply.get("Messages", [])):
        return False
    event = {"Records": [_record(message, source.queue) for message in messages]}
    answer = await pool.invoke(json.dumps(event).encode())
    failed = failures(answer, [message["MessageId"] for message in messages], source.partial)
    for message in messages:
        if message["MessageId"] not in failed:
            await asyncio.to_thread(sqs.delete_message, QueueUrl=source.queue, ReceiptHandle=message["ReceiptHandle"])
    return True


def _record(message: "MessageTypeDef", queue: str) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": arn(queue),
        "awsRegion": PSEUDO["AWS::Region"],
    }


def failures(answer: Answer, sent: list[str], partial: bool) -> list[str]:
    """The ids of the messages that failed.

    Args:
        sent: the ids of the batch: all of them failed where the function did, or told what Lambda cannot read.
        partial: the function tells which failed.
    """
    if answer.failed:
        return sent
    told = json.loads(answer.payload) if partial else None
    items = told.get("batchItemFailures") or [] if isinstance(told, dict) else [told] if told else []
    failed: list[Any] = [item.get("itemIdentifier") if isinstance(item, dict) else item for item in items]
    return failed if all(each in sent for each in failed) else sent
