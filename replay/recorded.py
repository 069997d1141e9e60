"""A recording: fetched from where the edge keeps it, given a key that works here, and compared by its record."""

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError

from local.stack import EVENTS, ROOT
from replay.events import ReplayError
from replay.targets import Reply
from tokencount.adapters.aws import client
from tokencount.adapters.recordings import FolderRecordings, S3Recordings
from tokencount.domain.ids import is_id
from tokencount.domain.ports import Recordings
from tokencount.domain.recordings import Recording, RecordingsUnavailable

FOLDER = ROOT / ".local" / EVENTS
EVENT_KEYS = {"httpMethod", "path", "headers", "multiValueHeaders", "body"}
RECORD_KEYS = {"id", "status", "input_tokens", "error"}


def find(request_id: str, bucket: str | None) -> Recording:
    """The recording of a request.

    Args:
        bucket: None for the folder in which the local stack records.

    Raises:
        ReplayError: there is none, or it cannot be read.
    """
    if not is_id(request_id):
        raise ReplayError(f"{request_id} is no request's id")
    place = f"the bucket {bucket}" if bucket else f"{FOLDER} (see --bucket)"
    try:
        text = _recordings(bucket).get(request_id)
        recording = None if text is None else _parsed(text)
    except (BotoCoreError, RecordingsUnavailable) as error:
        raise ReplayError(f"{error}") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise ReplayError(f"the recording of {request_id} in {place} is broken: {error}") from error
    if recording is None:
        raise ReplayError(f"there is no recording of {request_id} in {place}")
    return recording


def _parsed(text: str) -> Recording:
    recording = Recording(**json.loads(text))
    if not (recording.event.keys() >= EVENT_KEYS and recording.record.keys() >= RECORD_KEYS):
        raise ValueError("it lacks a part")
    return recording


def _recordings(bucket: str | None) -> Recordings:
    return S3Recordings(client("s3"), bucket) if bucket else FolderRecordings(FOLDER)


def with_key(event: Mapping[str, Any], key: str) -> dict[str, Any]:
    """A recorded event with an API key in the place of the credential that was left out."""
    bearer = f"Bearer {key}"
    return {
        **event,
        "headers": {**event["headers"], "authorization": bearer},
        "multiValueHeaders": {**event["multiValueHeaders"], "authorization": [bearer]},
    }


def recorded_answer(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a record tells of the answer that it is about."""
    error = record["error"] or {}
    return {"status": record["status"], "input_tokens": record["input_tokens"], "code": error.get("code")}


def answer_of(reply: Reply) -> dict[str, Any]:
    """The same of an answer."""
    body = reply.body if isinstance(reply.body, dict) else {}
    error = body.get("b3os") or body.get("error") or {}
    return {"status": reply.status, "input_tokens": body.get("input_tokens"), "code": error.get("code")}
