"""What requests take of a running stack: DynamoDB's units, the processors' time, and bytes of log."""

import json
import math
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import urllib3

_WRITES = ("PutItem", "UpdateItem")
_READS = ("GetItem",)


class Units:
    """What was asked of DynamoDB."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counted: dict[str, float] = defaultdict(float)

    def add(self, operation: str, asked: dict[str, Any], answer: bytes) -> None:
        """Counts an operation by what its answer says; one whose condition failed says nothing, and takes a unit."""
        consumed = json.loads(answer).get("ConsumedCapacity", {}).get("CapacityUnits", 1.0)
        with self._lock:
            self._counted["writes" if operation in _WRITES else "reads"] += consumed
            self._counted["calls"] += 1
            self._counted["put"] += item_bytes({"M": asked["Item"]}) - 3 if operation == "PutItem" else 0

    def take(self) -> dict[str, float]:
        """What was counted since the last time: `writes` and `reads` in units, `calls`, and bytes `put` as items."""
        with self._lock:
            counted, self._counted = self._counted, defaultdict(float)
        return counted


@contextmanager
def metered(engine: str) -> Iterator[tuple[str, Units]]:
    """The URL of a proxy before a DynamoDB, which is asked for the units of every operation, and these."""
    units, behind = Units(), urllib3.PoolManager(maxsize=50)

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            operation = self.headers["x-amz-target"].partition(".")[2]
            counts = operation in (*_READS, *_WRITES)
            if counts:
                asked = json.loads(body) | {"ReturnConsumedCapacity": "TOTAL"}
                body = json.dumps(asked).encode()
            headers = {name: value for name, value in self.headers.items() if name.lower() != "content-length"}
            answer = behind.request("POST", engine, body=body, headers=headers)
            if counts:
                units.add(operation, asked, answer.data)
            self.send_response_only(answer.status)
            for name in ("content-type", "x-amz-crc32"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.send_header("content-length", str(len(answer.data)))
            self.end_headers()
            self.wfile.write(answer.data)

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", units
        finally:
            server.shutdown()
            thread.join()


def processor_seconds(pids: Sequence[int]) -> float:
    """How long the threads of these processes have run, as Linux counts it."""
    stats = (stat for pid in pids for stat in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(int(stat.read_text().split()[0]) for stat in stats) / 1e9


def item_bytes(attribute: dict[str, Any]) -> int:
    """What DynamoDB charges for a value, as its documentation counts ("Item sizes and formats")."""
    [(kind, value)] = attribute.items()
    match kind:
        case "S":
            return len(value.encode())
        case "N":
            return math.ceil(len(value.strip("-0.").replace(".", "")) / 2) + 1
        case "M":
            return 3 + sum(len(name.encode()) + 1 + item_bytes(each) for name, each in value.items())
        case "L":
            return 3 + sum(1 + item_bytes(each) for each in value)
    return 1
