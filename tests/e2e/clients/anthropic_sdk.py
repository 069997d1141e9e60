"""Calls the service with this interpreter's Anthropic Python SDK: a JSON call a line in, its JSON outcome a line out.

Knows the SDK and nothing of the project, as it also runs in environments that hold no more than the SDK.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any, SupportsIndex

import anthropic

pauses: list[float] = []
sleep = time.sleep


def sleep_and_tell(seconds: SupportsIndex | float) -> None:
    """As `time.sleep`, which nothing but the SDK calls here, between two attempts."""
    pauses.append(float(seconds))
    sleep(seconds)


def outcome_of(call: dict[str, Any]) -> dict[str, Any]:
    """The count, or what an application would see of the exception."""
    with anthropic.Anthropic(**call["client"]) as client:
        methods: dict[str, Callable[..., Any]] = {
            "count": client.messages.with_raw_response.count_tokens,
            "beta count": client.beta.messages.with_raw_response.count_tokens,
            "create": client.messages.with_raw_response.create,
        }
        try:
            answer = methods[call["method"]](**call["body"], extra_headers=call["headers"])
        except anthropic.APIStatusError as error:
            return {
                "error": type(error).__name__,
                "status": error.status_code,
                "message": str(error),
                "body": error.body,
                "request_id": error.request_id,
                "headers": dict(error.response.headers),
            }
        counted = answer.parse()
        return {
            "input_tokens": counted.input_tokens,
            "request_id": counted._request_id,
            "headers": dict(answer.headers),
        }


if __name__ == "__main__":
    time.sleep = sleep_and_tell
    for line in sys.stdin:
        pauses.clear()
        print(json.dumps(outcome_of(json.loads(line)) | {"pauses": pauses}), flush=True)
