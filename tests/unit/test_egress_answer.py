"""Whatever a host answers, the guard gives the body that was declared or a reason, and waits no longer than it may."""

import itertools
import socket
import ssl
import struct
import time
from collections.abc import Iterator

import pytest

from tests.support.internet import HOST, Answer, Internet, internet, plain, raw
from tokencount.adapters.egress_answer import MAX_HEADER_BYTES, Deadline
from tokencount.adapters.egress_errors import Failed

URL = f"https://{HOST}/a.png"
BODY = bytes(range(256)) * 1000
BROKEN = "^its host's answer is broken or no HTTP$"
LATE = "^it did not come in time$"


@pytest.fixture
def net() -> Iterator[Internet]:
    with internet() as net:
        yield net


def fetch(net: Internet, answer: Answer, seconds: float = 30) -> tuple[int | None, bytes]:
    """The declared length and the body."""
    net.serve(answer)
    with net.guard().open(URL, Deadline(seconds)) as found:
        return found.length, b"".join(found)


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (*pieces, b""))


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "length"),
    [
        (plain(BODY), len(BODY)),
        (plain(BODY, "Content-Encoding: identity"), len(BODY)),
        (plain(BODY, f"Content-Length: {len(BODY)}"), len(BODY)),
        (raw(b"HTTP/1.1 200 OK\r\n\r\n" + BODY), None),
        (raw(b"HTTP/1.0 200 OK\r\n\r\n" + BODY), None),
        (raw(CHUNKED + chunked(BODY[:1], BODY[1:70_000], BODY[70_000:])), None),
        (raw(CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Length: 3\r\n\r\n") + chunked(BODY)), None),
        (raw(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + BODY), None),
        (plain(b""), 0),
    ],
    ids=["length", "identity", "length twice", "end", "HTTP/1.0", "chunks", "chunks and length", "hints", "empty"],
)  # fmt: skip
def test_a_body_is_read_however_its_end_is_told(answer: Answer, length: int | None, net: Internet) -> None:
    assert fetch(net, answer) == (length, b"" if length == 0 else BODY)


def test_what_comes_behind_the_declared_length_is_not_read(net: Internet) -> None:
    assert fetch(net, plain(BODY, length=1000)) == (1000, BODY[:1000])


@pytest.mark.parametrize(
    "answer",
    [
        plain(BODY, length=len(BODY) + 1),
        raw(CHUNKED + chunked(BODY)[:-5]),
        raw(CHUNKED + b"zz\r\n"),
        raw(CHUNKED + b"fffffffffffffffffffffffffffffff\r\n" + BODY),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabcd"),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1e3\r\n\r\nabcd"),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\nabcd" % (b"9" * 5000)),
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
    ],
    ids=["too short", "chunks cut", "no chunk", "huge chunk", "two", "negative", "float", "very long", "gzip, chunked"],
)
def test_a_wrong_length_fails(answer: Answer, net: Internet) -> None:
    with pytest.raises(Failed, match=BROKEN):
        fetch(net, answer)


@pytest.mark.parametrize(
    "answer",
    [
        raw(b""),
        raw(b"\x89PNG\r\n\x1a\n" + BODY),
        raw(b"<html>hello</html>\r\n\r\n"),
        raw(b"HTTP/0.9 200 OK\r\n\r\nabc"),
        raw(b"HTTP/2.0 200 OK\r\n\r\nabc"),
        raw(b"HTTP/1.1 999 \xff\xfe\r\n\r\n\xff"),
        raw(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n"),
        raw(b"HTTP/1.1 200 OK\r\na: \x00\r\n\r\n"),
        raw(b"HTTP/1.1 200 OK\r\n"),
        raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
        raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        raw(b"HTTP/1.1 200 OK\r\na: " + b"x" * 3 * MAX_HEADER_BYTES + b"\r\n\r\n"),
        raw(b"HTTP/1.1 200 OK\r\n" + b"a: x\r\n" * MAX_HEADER_BYTES + b"\r\n"),
    ],
    ids=[
        "nothing", "bytes", "HTTP/0.9", "version 0.9", "version 2.0", "status", "header", "NUL", "cut", "101",
        "HTTP/2", "huge header", "very many headers",
    ],
)  # fmt: skip
def test_what_is_no_http_fails(answer: Answer, net: Internet) -> None:
    with pytest.raises(Failed):
        fetch(net, answer)


@pytest.mark.parametrize("status", [100, 201, 204, 206, 400, 401, 403, 404, 429, 500, 503])
def test_a_status_but_200_fails_and_is_told(status: int, net: Internet) -> None:
    answer = raw(f"HTTP/1.1 {status} Secret words\r\nContent-Length: 3\r\n\r\nabc".encode())
    told = BROKEN if status == 100 else f"^its host answered with status {status}$"
    with pytest.raises(Failed, match=told):
        fetch(net, answer)


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "br", "deflate", "identity, gzip", "zstd"])
def test_a_compressed_body_was_not_asked_for_and_fails(coding: str, net: Internet) -> None:
    with pytest.raises(Failed, match="^its host sent it compressed, which was not asked for$"):
        fetch(net, plain(BODY, f"Content-Encoding: {coding}"))


def reset(after: bytes) -> Answer:
    def answer(connection: ssl.SSLSocket) -> None:
        connection.sendall(after)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    return answer


@pytest.mark.parametrize("after", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"])
def test_a_connection_that_is_reset_fails(after: bytes, net: Internet) -> None:
    with pytest.raises(Failed):
        fetch(net, reset(after))


def dripping(head: bytes, pieces: Iterator[bytes]) -> Answer:
    """A host that sends the head, and then a piece now and then, for as long as the other side is there."""

    def answer(connection: ssl.SSLSocket) -> None:
        connection.sendall(head)
        for piece in pieces:
            time.sleep(0.02)
            connection.sendall(piece)

    return answer


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"", b"H"),
        (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
        (CHUNKED, b"1\r\nx\r\n"),
        (CHUNKED + b"0\r\n", b"a: b\r\n"),
    ],
    ids=["status line", "headers", "interim answers", "body with length", "body without", "chunks", "trailers"],
)
def test_what_drips_is_given_up_at_the_deadline(head: bytes, piece: bytes, net: Internet) -> None:
    with pytest.raises(Failed, match=LATE):
        fetch(net, dripping(head, itertools.repeat(piece)), seconds=0.4)


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"])
def test_what_stops_is_given_up_at_the_deadline(head: bytes, net: Internet) -> None:
    def answer(connection: ssl.SSLSocket) -> None:
        connection.sendall(head)
        connection.recv(1)

    with pytest.raises(Failed, match=LATE):
        fetch(net, answer, seconds=0.4)


def test_very_many_small_pieces_at_once_are_given_up_at_the_deadline_too(net: Internet) -> None:
    flood = b"1\r\nx\r\n" * 10_000
    with pytest.raises(Failed, match=LATE):
        fetch(net, dripping(CHUNKED, itertools.repeat(flood)), seconds=0.4)


def test_a_deadline_within_another_ends_with_the_earlier() -> None:
    assert Deadline(100, within=Deadline(1)).left() <= 1
    assert Deadline(1, within=Deadline(100)).left() <= 1
    with pytest.raises(TimeoutError):
        Deadline(100, within=Deadline(0)).left()
