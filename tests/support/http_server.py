"""An HTTP server on loopback, in a thread of the test's."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer


def http_server(handler: type[BaseHTTPRequestHandler]) -> AbstractContextManager[str]:
    """The URL of a server that answers by that handler and says nothing of it, while the block runs."""
    quiet = type(handler.__name__, (handler,), {"log_message": lambda *_: None})
    return running(ThreadingHTTPServer(("127.0.0.1", 0), quiet))


@contextmanager
def running(server: HTTPServer) -> Iterator[str]:
    """The URL of a server, which ends with the block."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
