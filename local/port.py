"""Claims the port before anything slow happens; needs nothing but the standard library, so that make can ask first."""

import errno
import socket
import sys

from local.errors import StackError

HOST = "127.0.0.1"


def claim(port: int) -> socket.socket:
    """A listening socket on loopback (0: any free port); whoever connects early waits until it is served."""
    if not 0 <= port <= 65535:
        raise StackError(f"port {port} does not exist: choose one from 1 to 65535 with PORT=…")
    # The protocol is named because asyncio sets TCP_NODELAY only where it is: without, answers wait 40 ms for an ACK.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        if port and _answers(port):  # BSD would let us bind beside a server that listens on every address
            raise OSError(errno.EADDRINUSE, "Address already in use")
        listener.bind((HOST, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise StackError(_reason(port, error)) from error
    return listener


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0


def _reason(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is taken by another process: stop it, or choose another with PORT=…"
    return f"port {port} cannot be used ({error.strerror}): choose another with PORT=…"


if __name__ == "__main__":
    try:
        claim(int(sys.argv[1])).close()
    except StackError as failure:
        sys.exit(str(failure))
    except ValueError:
        sys.exit(f"PORT must be a number, not {sys.argv[1]!r}")
