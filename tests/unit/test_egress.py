"""The egress guard asks public hosts alone, whatever they are called and wherever they lead."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
import trustme

from tests.support.internet import ADDRESS, HOST, OTHER_ADDRESS, Internet, came, internet, plain
from tokencount.adapters import egress
from tokencount.adapters.egress import EgressGuard, public_trust
from tokencount.adapters.egress_answer import Deadline
from tokencount.adapters.egress_errors import Denied, Failed, NotFetched

URL = f"https://{HOST}/a.png"


@pytest.fixture
def net() -> Iterator[Internet]:
    with internet() as net:
        yield net


def fetch(guard: EgressGuard, url: str = URL, seconds: float = 30) -> bytes:
    with guard.open(url, Deadline(seconds)) as answer:
        return b"".join(answer)


# --- what is allowed ---


def test_an_image_at_a_public_address_is_fetched_by_the_name_of_its_host(net: Internet) -> None:
    server = net.serve(plain(b"image"))
    assert fetch(net.guard(), f"https://{HOST.upper()}:443/a%20b.png?size=1#x") == b"image"
    assert (net.lookups, net.dialled, server.names) == ([HOST], [ADDRESS], [HOST])
    head, *headers = server.requests[0].decode().strip().split("\r\n")
    assert head == "GET /a%20b.png?size=1 HTTP/1.1"
    assert {line.lower() for line in headers} == {
        f"host: {HOST}",
        "user-agent: tokencount",
        "accept: image/png, image/jpeg, image/webp, image/gif",
        "accept-encoding: identity",
        "connection: close",
    }


def test_the_next_public_address_is_tried_where_one_does_not_answer(net: Internet) -> None:
    net.serve(plain(b"image"))
    net.names[HOST] = [[OTHER_ADDRESS, ADDRESS]]
    reached = net.dial

    def dial(address: str, seconds: float) -> socket.socket:
        connection = reached(address, seconds)
        if address == OTHER_ADDRESS:
            connection.close()
            raise TimeoutError
        return connection

    guard = EgressGuard(resolver=net.resolve, dialler=dial, trust=net.trust)
    assert fetch(guard) == b"image"
    assert net.dialled == [OTHER_ADDRESS, ADDRESS]


@pytest.mark.parametrize(
    ("url", "address"), [(f"https://{ADDRESS}/", ADDRESS), (f"https://[{OTHER_ADDRESS}]/", OTHER_ADDRESS)]
)
def test_a_public_address_may_stand_in_the_url_itself_and_its_certificate_is_for_it(
    url: str, address: str, net: Internet
) -> None:
    net.serve(plain(b"image"), host=address, address=address)
    assert fetch(net.guard(), url) == b"image"
    assert net.dialled == [address]


# --- what is not ---

FORBIDDEN = [
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "ff02::1", "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::1", "2001::5601:5601", "::169.254.169.254",
    "::ffff:0:169.254.169.254", "2606:4700::5efe:a9fe:a9fe", "2001:db8::1", "not an address", "",
]  # fmt: skip


def assert_untouched(net: Internet) -> None:
    assert net.dialled == []
    assert net.is_untouched


@pytest.mark.parametrize("address", FORBIDDEN)
def test_a_host_at_an_address_that_is_not_public_is_never_connected_to(address: str, net: Internet) -> None:
    net.names[HOST] = [[address]]
    with pytest.raises(Denied, match="^its host has an address that is not public$"):
        fetch(net.guard())
    assert_untouched(net)


@pytest.mark.parametrize("addresses", [[ADDRESS, "10.0.0.1"], ["10.0.0.1", ADDRESS], [ADDRESS] * 9 + ["::1"]])
def test_one_address_that_is_not_public_is_enough(addresses: list[str], net: Internet) -> None:
    net.serve(plain(b"image"))
    net.names[HOST] = [addresses]
    with pytest.raises(Denied, match="an address that is not public"):
        fetch(net.guard())
    assert_untouched(net)


def test_a_name_that_is_rebound_is_looked_up_once_and_connected_to_where_it_was_checked(net: Internet) -> None:
    net.serve(plain(b"image"))
    net.names[HOST] = [[ADDRESS], ["169.254.169.254"]]
    assert fetch(net.guard()) == b"image"
    assert (net.lookups, net.dialled) == ([HOST], [ADDRESS])
    assert net.is_untouched


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 300, 304])
@pytest.mark.parametrize("target", ["https://169.254.169.254/latest", "http://localhost/", f"https://{HOST}/b.png"])
def test_a_redirect_is_denied_wherever_it_leads_and_never_followed(status: int, target: str, net: Internet) -> None:
    server = net.serve(plain(b"", f"Location: {target}", status=f"{status} Moved"))
    with pytest.raises(Denied, match="^its host redirects elsewhere, and no redirect is followed$"):
        fetch(net.guard())
    assert (net.lookups, net.dialled, len(server.requests)) == ([HOST], [ADDRESS], 1)
    assert net.is_untouched


@pytest.mark.parametrize(
    "url", ["https://ok.example@169.254.169.254/", r"https://ok.example\@169.254.169.254/", f"https://{HOST}:22/"]
)
def test_a_url_that_is_denied_by_its_text_is_not_even_looked_up(url: str, net: Internet) -> None:
    with pytest.raises(Denied):
        fetch(net.guard(), url)
    assert net.lookups == []
    assert_untouched(net)


@pytest.mark.parametrize("host", ["cdn.example", "a.cdn.example", "A.B.CDN.example.", "xn--bcher-kva.example"])
def test_of_an_allow_list_every_host_with_a_suffix_may_be_asked_and_no_other(host: str, net: Internet) -> None:
    guard = net.guard(allowed=["cdn.example", "bücher.example".encode("idna").decode()])
    guard.check(f"https://{host}/")
    guard.check("https://bücher.example/")
    for other in ("example", "evilcdn.example", "cdn.example.evil", ADDRESS, f"[{OTHER_ADDRESS}]"):
        with pytest.raises(Denied, match="not one that this service may ask"):
            guard.check(f"https://{other}/")


def test_of_a_deny_list_no_host_with_a_suffix_may_be_asked(net: Internet) -> None:
    guard = net.guard(denied=["evil.example", ADDRESS])
    for host in ("evil.example", "a.EVIL.example.", "ｅｖｉｌ.example", ADDRESS):
        with pytest.raises(Denied, match="not one that this service may ask"):
            guard.check(f"https://{host}/")
    guard.check("https://notevil.example/")
    guard.check("https://evil.example.org/")


def test_the_deny_list_wins(net: Internet) -> None:
    with pytest.raises(Denied):
        net.guard(allowed=["example"], denied=["evil.example"]).check("https://evil.example/")


# --- what fails ---


def test_a_host_without_an_address_fails(net: Internet) -> None:
    net.names["empty.example"] = [[]]
    for url in ("https://nowhere.example/", "https://empty.example/"):
        with pytest.raises(Failed, match="^its host has no address$"):
            fetch(net.guard(), url)
    assert_untouched(net)


def test_a_look_up_that_hangs_ends_in_time(net: Internet) -> None:
    done = threading.Event()

    def resolve(host: str) -> list[str]:
        done.wait()
        return [ADDRESS]

    with pytest.raises(Failed, match="^it did not come in time$"):
        fetch(EgressGuard(resolver=resolve, dialler=net.dial, trust=net.trust), seconds=0.2)
    done.set()
    assert_untouched(net)


def test_a_host_that_nobody_answers_at_fails(net: Internet) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        net.servers[ADDRESS] = listener.getsockname()[1]
    net.names[HOST] = [[ADDRESS]]
    with pytest.raises(Failed, match="^its host cannot be reached$"):
        fetch(net.guard())


def test_a_host_that_never_speaks_tls_ends_in_time(net: Internet) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        net.servers[ADDRESS] = silent.getsockname()[1]
        net.names[HOST] = [[ADDRESS]]
        with pytest.raises(Failed, match="^it did not come in time$"):
            fetch(net.guard(), seconds=0.2)


def test_a_host_that_speaks_no_tls_fails(net: Internet) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as plaintext:
        net.servers[ADDRESS] = plaintext.getsockname()[1]
        net.names[HOST] = [[ADDRESS]]

        def answer() -> None:
            connection, _ = plaintext.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.recv(65_536)

        answering = threading.Thread(target=answer)
        answering.start()
        with pytest.raises(Failed, match="^no TLS connection to its host is possible$"):
            fetch(net.guard())
        answering.join()


@pytest.mark.parametrize("fault", ["another name", "another authority", "expired", "the name of its address"])
def test_a_certificate_that_is_not_good_for_the_host_fails_before_anything_is_asked(fault: str, net: Internet) -> None:
    certificate = {
        "another name": lambda: net.authority.issue_cert("other.example"),
        "another authority": lambda: trustme.CA().issue_cert(HOST),
        "expired": lambda: net.expired(HOST),
        "the name of its address": lambda: net.authority.issue_cert(ADDRESS),
    }[fault]()
    server = net.serve(plain(b"image"), certificate=certificate)
    with pytest.raises(Failed, match="^its host has no trusted certificate for its name$"):
        fetch(net.guard())
    assert server.requests == []


# --- what no setting changes ---


def test_no_proxy_of_the_environment_is_asked(net: Internet, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as proxy:
        proxy.setblocking(False)
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        net.serve(plain(b"image"))
        assert fetch(net.guard()) == b"image"
        assert not came(proxy)


def test_no_variable_of_the_environment_adds_an_authority_or_writes_keys_down(
    net: Internet, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("tls")
    net.authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(folder))
    monkeypatch.setenv("SSLKEYLOGFILE", str(folder / "keys"))
    public_trust.cache_clear()
    server = net.serve(plain(b"image"))
    with pytest.raises(Failed, match="no trusted certificate"):
        fetch(EgressGuard(resolver=net.resolve, dialler=net.dial))
    assert server.requests == []
    assert not (folder / "keys").exists()


def test_the_public_authorities_are_asked_for_certificates_of_the_host_s_name() -> None:
    context = public_trust()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert len(context.get_ca_certs()) > 50


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/", "https://localhost/", "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/",
        "https://127.1/", "https://0/", "https://[::1]/", "https://[::]/", "https://[::ffff:127.0.0.1]/",
        "https://[::127.0.0.1]/", "https://①②⑦.0.0.1/", "https://127。0。0。1/",
    ],
)  # fmt: skip
def test_the_system_s_own_resolver_and_dialler_do_not_reach_this_machine(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.setblocking(False)
        monkeypatch.setattr(egress, "PORT", listener.getsockname()[1])
        with pytest.raises(NotFetched) as refusal:
            fetch(EgressGuard(), url)
        assert not came(listener)
        # Some systems know no address for some of these; none is a public one.
        assert isinstance(refusal.value, Denied) or str(refusal.value) == "its host has no address"


def test_the_system_s_dialler_connects_to_the_address_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.setblocking(False)
        monkeypatch.setattr(egress, "PORT", listener.getsockname()[1])
        with closing(egress.dial("127.0.0.1", 5)):
            assert came(listener)
