"""URLs are read in one way or not at all."""

import re
import ssl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokencount.adapters.egress_errors import Denied, Failed
from tokencount.adapters.egress_target import target_of


@pytest.mark.parametrize(
    ("url", "host", "authority", "resource"),
    [
        ("https://images.example", "images.example", "images.example", "/"),
        ("https://images.example/", "images.example", "images.example", "/"),
        ("https://IMAGES.Example:443/a/b.png?c=d&e", "images.example", "images.example", "/a/b.png?c=d&e"),
        ("https://images.example?q", "images.example", "images.example", "/?q"),
        ("https://images.example:/a#b?c@d", "images.example", "images.example", "/a"),
        ("https://images.example./a", "images.example", "images.example", "/a"),
        ("https://a_b--c.example/ä%20/x@y:z", "a_b--c.example", "a_b--c.example", "/%C3%A4%20/x@y:z"),
        ("https://bücher.example/", "xn--bcher-kva.example", "xn--bcher-kva.example", "/"),
        ("https://ｉｍａｇｅｓ。example/", "images.example", "images.example", "/"),
        ("https://[2606:4700::1111]:443/a", "2606:4700::1111", "[2606:4700::1111]", "/a"),
        ("https://2130706433/", "2130706433", "2130706433", "/"),
        ("https://①②⑦.0.0.1/", "127.0.0.1", "127.0.0.1", "/"),
    ],
)  # fmt: skip
def test_a_url_is_a_host_and_a_resource(url: str, host: str, authority: str, resource: str) -> None:
    target = target_of(url)
    assert (target.host, target.authority, target.resource) == (host, authority, resource)


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://images.example/", "only https on port 443"),
        ("ftp://images.example/", "only https on port 443"),
        ("//images.example/", "only https on port 443"),
        ("https:images.example", "only https on port 443"),
        ("https://images.example:80/", "only https on port 443"),
        ("https://images.example:8443/", "only https on port 443"),
        ("https://images.example:4430/", "only https on port 443"),
        (f"https://images.example:{'9' * 5000}/", "only https on port 443"),
        ("https://ok.example@169.254.169.254/", "user name"),
        ("https://ok.example:x@169.254.169.254/", "user name"),
        ("https://@images.example/", "user name"),
        (r"https://ok.example\@169.254.169.254/", "backslash"),
        (r"https://ok.example\.evil.example/", "backslash"),
        (r"https://images.example/a\b", "backslash"),
    ],
)
def test_what_is_not_plain_https_on_port_443_is_denied(url: str, rule: str) -> None:
    with pytest.raises(Denied, match=rule):
        target_of(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://", "https:///etc/passwd", "https://?q", "https://:443/", "https://images.example:x/", "https://a..b/",
        "https://.a/", "https://a b.example/", "https://a.example/a b", "https://a.example/\r\nHost: b", "https://a%2eb/",
        "https://%31%32%37.0.0.1/", "https://[::1/", "https://::1/", "https://[::1]a.example/", "https://[fe80::1%25eth0]/",
        "https://[v1.a]/", "https://a[::1]/", "https://a.example\t/", "\u00a0https://a.example/", "https://a.example;b/",
        "https://a\u2028b/", "https://a\u00adb\u200d.example/", f"https://{'a' * 64}.example/",
        f"https://{'a.' * 130}example/", f"https://{'ä' * 300}.example/", f"https://a.example/{'a' * 9000}",
    ],
)  # fmt: skip
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises((Failed, Denied)):
        target_of(url)


def pieces(*known: str) -> st.SearchStrategy[str]:
    return st.lists(st.one_of(st.sampled_from(known), st.text(max_size=3)), max_size=8).map("".join)


@given(
    pieces(
        "a", ".", "example", ":", "443", "@", "[", "]", "::1", "127.0.0.1", "xn--", "-", "_", "%", "ß", "ı", "。", "\\"
    ),
    pieces("/", "?", "#", "a", " ", "%2f", "..", "@", ":", "\r\n", "é", "\\"),
)
@settings(max_examples=500)
def test_whatever_is_written_behind_https_is_one_target_or_a_reason(authority: str, rest: str) -> None:
    try:
        target = target_of(f"https://{authority}{rest}")
    except (Denied, Failed) as refusal:
        assert str(refusal)
        return
    assert re.fullmatch(r"[a-z0-9_.-]+|[0-9a-f:.]+", target.host)
    assert target.authority in {target.host, f"[{target.host}]"}
    assert re.fullmatch(r"/[\x21-\x7e]*", target.resource)
    assert "\\" not in target.resource
    # What TLS asks for is a name that the library takes.
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=target.host)
