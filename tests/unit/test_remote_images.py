"""Images by url: how many, how large, how long, how many at a time, and whose error it is."""

import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from tests.support.internet import ADDRESS, HOST, Internet, internet, plain, raw
from tokencount.adapters.remote_images import MAX_IMAGE_BYTES, Patience, RemoteImages, without_budget
from tokencount.domain.chat import Image
from tokencount.domain.errors import EgressDenied, InvalidRequest, RateLimited
from tokencount.domain.image_budget import Spending
from tokencount.domain.ports import Caller

CALLER = Caller("org", "proj", ("infer:run",), "req_1")
MIB = 1024 * 1024
OK = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.fixture
def net() -> Iterator[Internet]:
    with internet() as net:
        yield net


def at(*urls: str) -> list[Image]:
    """Images at these urls."""
    return [Image(f"messages.0.content.{place}", {"type": "url", "url": url}) for place, url in enumerate(urls)]


def several(count: int, host: str = HOST) -> list[Image]:
    return at(*[f"https://{host}/{number}.png" for number in range(count)])


def fetch(net: Internet, images: Sequence[Image], **patience: float) -> list[bytes]:
    return RemoteImages(net.guard(), without_budget, Patience(**patience)).fetch(images, CALLER)


def test_the_files_come_in_the_order_of_their_images(net: Internet) -> None:
    hosts = [f"host-{number}.example" for number in range(20)]
    for number, host in enumerate(hosts):
        net.serve(plain(b"file %d" % number), host, f"93.184.215.{number + 1}")
    files = fetch(net, at(*[f"https://{host}/" for host in hosts]))
    assert files == [b"file %d" % number for number in range(20)]


def test_four_are_fetched_at_a_time_and_never_more(net: Internet) -> None:
    together, lock, running, most = threading.Barrier(4), threading.Lock(), [0], [0]

    def answer(connection: ssl.SSLSocket) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        together.wait(30)
        with lock:
            running[0] -= 1
        connection.sendall(OK + b"image")

    net.serve(answer)
    assert fetch(net, several(20), image=30, together=60) == [b"image"] * 20
    assert most == [4]


def test_the_21st_image_is_one_too_many_and_nothing_is_asked_for(net: Internet) -> None:
    with pytest.raises(InvalidRequest, match="21 images by url; at most 20") as refusal:
        fetch(net, several(21))
    assert refusal.value.param == "messages.0.content.20.source.url"
    assert net.lookups == []


def test_a_url_that_is_denied_by_its_text_stops_all_before_anything_is_asked_for(net: Internet) -> None:
    with pytest.raises(EgressDenied, match="^The image is not fetched: a user name") as refusal:
        fetch(net, [*several(2), *at("https://a@b/")])
    assert refusal.value.param == "messages.0.content.0.source.url"
    assert net.lookups == []


def test_a_denied_image_and_one_that_fails_name_their_urls(net: Internet) -> None:
    net.serve(plain(b"image"))
    net.names["inside.example"] = [["10.0.0.1"]]
    outside = f"https://{HOST}/"
    with pytest.raises(EgressDenied, match="^The image is not fetched: its host has an address that is not") as denied:
        fetch(net, at(outside, "https://inside.example/"))
    with pytest.raises(InvalidRequest, match="^The image is not fetched: its host has no address$") as failed:
        fetch(net, at(outside, outside, "https://nowhere.example/"))
    assert denied.value.param == "messages.0.content.1.source.url"
    assert failed.value.param == "messages.0.content.2.source.url"


def test_of_several_faults_the_first_in_the_request_s_order_is_told(net: Internet) -> None:
    second_failed = threading.Event()

    def answer(connection: ssl.SSLSocket) -> None:
        second_failed.wait(30)
        connection.sendall(b"HTTP/1.1 404 No\r\n\r\n")

    net.serve(answer)

    class Resolving(Internet):
        def resolve(self, host: str) -> Sequence[str]:
            if host != HOST:
                second_failed.set()
            return super().resolve(host)

    net.__class__ = Resolving
    with pytest.raises(InvalidRequest, match="status 404"):
        fetch(net, at(f"https://{HOST}/", "https://nowhere.example/"), image=30, together=30)


# --- sizes ---


class Ledger:
    """A budget without end, and what was held and used."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, Spending]] = []

    @contextmanager
    def hold(self, caller: Caller, size: int) -> Iterator[Spending]:
        assert caller == CALLER
        self.entries.append((size, Spending()))
        yield self.entries[-1][1]

    @property
    def sums(self) -> list[tuple[int, int]]:
        return sorted((held, spending.used) for held, spending in self.entries)


def test_an_image_is_paid_for_by_its_declared_length_or_as_the_largest_and_then_by_its_bytes(net: Internet) -> None:
    net.serve(plain(b"12345"))
    net.serve(raw(OK + b"123"), "other.example", "93.184.215.15")
    ledger = Ledger()
    RemoteImages(net.guard(), ledger.hold).fetch(at(f"https://{HOST}/", "https://other.example/"), CALLER)
    assert ledger.sums == [(5, 5), (10 * MIB, 3)]


def test_an_image_that_breaks_off_has_cost_what_came_of_it(net: Internet) -> None:
    net.serve(plain(b"12345", length=9))
    ledger = Ledger()
    with pytest.raises(InvalidRequest):
        RemoteImages(net.guard(), ledger.hold).fetch(several(1), CALLER)
    assert ledger.sums == [(9, 5)]


def test_nothing_is_held_for_what_is_denied_or_fails_before_its_body(net: Internet) -> None:
    net.serve(plain(b"", "Location: /", status="302 Found"))
    net.serve(plain(b"abc", status="404 Not Found"), "other.example", "93.184.215.15")
    net.serve(plain(b"", length=MAX_IMAGE_BYTES + 1), "large.example", "93.184.215.16")
    ledger = Ledger()
    for host in (HOST, "other.example", "large.example", "nowhere.example"):
        with pytest.raises((EgressDenied, InvalidRequest)):
            RemoteImages(net.guard(), ledger.hold).fetch(several(1, host), CALLER)
    assert ledger.sums == []


def test_a_minute_without_room_is_the_answer_and_no_body_is_read(net: Internet) -> None:
    @contextmanager
    def full(_caller: Caller, _size: int) -> Iterator[Spending]:
        raise RateLimited("full", retry_after=9)
        yield

    net.serve(plain(b"image"))
    with pytest.raises(RateLimited, match="full"):
        RemoteImages(net.guard(), full).fetch(several(3), CALLER)


def test_an_image_may_have_10_mib_and_no_byte_more(net: Internet) -> None:
    net.serve(plain(bytes(10 * MIB)))
    net.serve(raw(OK + bytes(10 * MIB)), "undeclared.example", "93.184.215.15")
    [declared, undeclared] = fetch(net, at(f"https://{HOST}/", "https://undeclared.example/"), image=30, together=60)
    assert len(declared) == len(undeclared) == 10 * MIB
    net.serve(plain(b"", length=10 * MIB + 1), "declared.more.example", "93.184.215.16")
    net.serve(raw(OK + bytes(10 * MIB + 1)), "more.example", "93.184.215.17")
    for host, told in (
        ("declared.more.example", "it has 10485761 bytes; at most"),
        ("more.example", "it has more than"),
    ):
        with pytest.raises(InvalidRequest, match=f"{told} 10485760") as refusal:
            fetch(net, several(1, host), image=30, together=60)
        assert refusal.value.param == "messages.0.content.0.source.url"


@pytest.mark.parametrize("head", [OK, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"])
def test_a_body_of_200_mb_without_a_length_is_stopped_at_the_cap(head: bytes, net: Internet) -> None:
    sent, gone = [0], threading.Event()
    piece = bytes(MIB) if head == OK else b"%x\r\n%s\r\n" % (MIB, bytes(MIB))

    def answer(connection: ssl.SSLSocket) -> None:
        try:
            connection.sendall(head)
            for _ in range(200):
                connection.sendall(piece)
                sent[0] += 1
        finally:
            gone.set()

    net.serve(answer)
    with pytest.raises(InvalidRequest, match="it has more than 10485760 bytes"):
        fetch(net, several(1), image=60, together=60)
    assert gone.wait(30)
    # What the sockets hold between them is some MiB more.
    assert sent[0] < 100


def test_a_request_s_images_may_have_40_mib_together_and_no_byte_more(net: Internet) -> None:
    net.serve(plain(bytes(10 * MIB)))
    net.serve(plain(b"x"), "one.byte.example", "93.184.215.15")
    assert sum(map(len, fetch(net, several(4), image=60, together=60))) == 40 * MIB
    with pytest.raises(InvalidRequest, match="more than 41943040 bytes together"):
        fetch(net, [*several(4), *at("https://one.byte.example/")], image=60, together=60)


# --- time ---


def never(connection: ssl.SSLSocket) -> None:
    connection.recv(1)


def test_an_image_that_does_not_come_in_its_time_fails(net: Internet) -> None:
    net.serve(never)
    with pytest.raises(InvalidRequest, match="^The image is not fetched: it did not come in time$") as refusal:
        fetch(net, several(1), image=0.3, together=30)
    assert refusal.value.param == "messages.0.content.0.source.url"


def test_the_images_of_a_request_share_one_deadline_also_those_that_have_not_begun(net: Internet) -> None:
    net.serve(never)
    with pytest.raises(InvalidRequest, match="it did not come in time") as refusal:
        fetch(net, several(20), image=30, together=0.3)
    assert refusal.value.param == "messages.0.content.0.source.url"
    assert len(net.lookups) <= 4
    assert set(net.dialled) <= {ADDRESS}


def test_in_production_an_image_has_5_seconds_and_all_together_have_10() -> None:
    assert Patience() == Patience(image=5, together=10)
