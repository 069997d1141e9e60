"""Recording of events: what of a count request is kept so that it can be sent again, and how long that is waited for.

What is kept is named here, and all else is left out: any other header, parameter or context may carry a credential.
"""

from collections.abc import Callable, Mapping
from typing import Any

from edge.request import EdgeRequest
from tokencount.adapters.node_protocol import COUNT_PATH
from tokencount.domain.errors import redact
from tokencount.domain.ports import Recordings
from tokencount.domain.recordings import NotRecorded, Recording
from tokencount.domain.records import RequestRecord

KEPT_HEADERS = ("accept", "anthropic-beta", "anthropic-version", "content-type", "user-agent")
KEPT_CONTEXT = ("requestId", "requestTime", "requestTimeEpoch", "protocol", "stage")
# An answer waits no longer for its recording, nor so long that it would itself be late.
WAITED_SECONDS = 1.0
RESERVED_SECONDS = 0.25
# With less left than this it is not begun: a large body takes parts of a second before it can be sent.
NEEDED_SECONDS = 1.0


class EventRecording:
    """Recording, turned on.

    Args:
        failed: is told the id of a request that was not recorded, and why.
    """

    def __init__(self, recordings: Recordings, failed: Callable[[str, NotRecorded], None]) -> None:
        self._recordings = recordings
        self._failed = failed

    def keep(self, event: Mapping[str, Any], record: RequestRecord, seconds_left: Callable[[], float]) -> None:
        """Keeps the event of a count request, if it is one; a failure is told and does not matter to the answer."""
        if record.path != COUNT_PATH:
            return
        if seconds_left() < NEEDED_SECONDS:
            self._failed(record.id, NotRecorded(record.id))
            return
        recording = Recording(record.to_dict(), without_credentials(event))
        try:
            self._recordings.put(recording, lambda: max(0.0, min(WAITED_SECONDS, seconds_left() - RESERVED_SECONDS)))
        except NotRecorded as error:
            self._failed(record.id, error)


def without_credentials(event: Mapping[str, Any]) -> dict[str, Any]:
    """What may be kept of a count request's event; a credential within the body is cut down to its kind."""
    request = EdgeRequest(event)
    values = {name: [*map(redact, request.headers(name))] for name in KEPT_HEADERS if request.headers(name)}
    context = event.get("requestContext") or {}
    return {
        "resource": COUNT_PATH,
        "path": COUNT_PATH,
        "httpMethod": request.method,
        "headers": {name: several[-1] for name, several in values.items()},
        "multiValueHeaders": values,
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "stageVariables": None,
        "requestContext": {"resourcePath": COUNT_PATH}
        | {name: context[name] for name in KEPT_CONTEXT if name in context},
        "body": redact(request.body.decode("utf-8", "surrogatepass")),
        "isBase64Encoded": False,
    }
