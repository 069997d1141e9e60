"""One process that runs one function, one invocation at a time, as Lambda's runtime does.

Run as a script, by its path: it imports the standard library and the handler, nothing else. Its socket carries frames
(four bytes of length, then the bytes): in, a context and an event for each invocation; out, `ok` or `error` and a
payload. The first such pair tells how the start went.
"""

import importlib
import json
import os
import queue
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

Handler = Callable[[Any, "Context"], Any]


class Context:
    """What Lambda passes beside the event."""

    def __init__(self, request_id: str, arn: str, seconds: float) -> None:
        self.aws_request_id = request_id
        self.invoked_function_arn = arn
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.identity = None
        self.client_context = None
        self._ends = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the function times out."""
        return max(0, int((self._ends - time.monotonic()) * 1000))


def main() -> None:
    """Import the handler, say how that went, then serve until the other end goes away."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(channel, frames), daemon=True).start()
    try:
        handler = _load(os.environ["LAMBDA_TASK_ROOT"], os.environ["_HANDLER"])
    except Exception as error:
        _send(channel, b"error", _described(error, ""))
        return
    _send(channel, b"ok", b"")
    while True:
        _send(channel, *_run(handler, json.loads(frames.get()), frames.get()))


def _load(root: str, name: str) -> Handler:
    sys.path.insert(0, root)  # functions/ is the one import root
    module, _, attribute = name.rpartition(".")
    loaded: Handler = getattr(importlib.import_module(module), attribute)
    return loaded


def _run(handler: Handler, context: dict[str, Any], event: bytes) -> tuple[bytes, bytes]:
    try:
        answer = handler(json.loads(event), Context(**context))
        return b"ok", json.dumps(answer, ensure_ascii=False).encode()
    except Exception as error:
        traceback.print_exc()
        return b"error", _described(error, context["request_id"])


def _described(error: Exception, request_id: str) -> bytes:
    described = {
        "errorMessage": str(error),
        "errorType": type(error).__name__,
        "requestId": request_id,
        "stackTrace": traceback.format_tb(error.__traceback__),
    }
    return json.dumps(described).encode()


def _send(channel: socket.socket, *frames: bytes) -> None:
    channel.sendall(b"".join(struct.pack(">I", len(frame)) + frame for frame in frames))


def _read(channel: socket.socket, frames: "queue.SimpleQueue[bytes]") -> None:
    """Pass frames on; the other end gone means that the stack is, however it ended: so is this process, at once."""
    with channel.makefile("rb") as stream:
        while header := stream.read(4):
            frames.put(stream.read(*struct.unpack(">I", header)))
    os._exit(0)


if __name__ == "__main__":
    main()
