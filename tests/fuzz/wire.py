"""Requests below JSON: mangled bytes, deep nesting, wrong content types, strange headers, methods and paths."""

import json
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.client import Request
from tests.fuzz.contract import COUNT_PATH
from tests.fuzz.grammar import JUNK, almost_valid, valid

# What a lenient reader takes, or chokes on.
_SNIPPETS = (
    b"NaN", b"-Infinity", b"1e400", b"-0", b"1E-999", b"9" * 5000, b'"\\ud800"', b'"\\udc00\\ud800"', b"\xff",
    b"\xc0\xaf", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x00", b'{"a":1,"a":2}', b"[" * 200, b'{"":' * 200, b"]", b"}",
    b",", b":", b'"', b"\\", b"//", b"/* */", b"'", b"undefined", b"True", b"None", b"0x10", b"01", b"+1", b".5",
    b"1.", b"\\u12", b"\n", b"\xe2\x80\xa8",
)  # fmt: skip
_CONTENT_TYPES = (
    "application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/json;charset=utf-16",
    " application/json", "application/json,text/plain", "text/plain", "application/x-www-form-urlencoded",
    "text/json", "multipart/form-data; boundary=x", "application/octet-stream", "application/problem+json",
    "application/jsonx", "*/*", "", ";", "application/json; x=\xe9",
)  # fmt: skip
_CREDENTIALS = (
    ("authorization", ""), ("authorization", "Bearer"), ("authorization", "Bearer "),
    ("authorization", "Basic YTpi"), ("authorization", "Bearer b3os_sk_" + "0" * 32 + "_0000000"),
    ("authorization", "Bearer " + "x" * 4000), ("authorization", "bearer b3os_pat_\xe9"),
    ("authorization", "Bearer null, Bearer null"), ("x-api-key", "x"), ("x-api-key", "b3os_sk_"),
    ("cookie", "__Host-b3os_session=b3os_ses_x"), ("cookie", "a=b; ; =; __Host-b3os_session"),
    ("cookie", "\xff=\xff"),
)  # fmt: skip
_SEGMENTS = (
    "", ".", "..", "%2e%2e", "%2F", "%00", "%", "%zz", "%c0%af", "%F0%9F%98%80", "a" * 3000, "v1", "infer",
    "models", "requests", "keys", "auth", "session", "b3os%2Fqwen3.5-9b", "b3os", "req_01m5t4yg394wegr3j4y01qb363",
    "count_tokens", "key_01m5t4yg394wegr3j4y01qb363", "{id}", "{proxy+}", "~", ";a=b", "live",
)  # fmt: skip
_ROUTES = (
    ("POST", COUNT_PATH), ("GET", "/v1/infer/models"), ("GET", "/v1/infer/models/b3os/qwen3.5-9b"),
    ("GET", "/v1/requests"), ("GET", "/v1/requests/req_01m5t4yg394wegr3j4y01qb363"), ("POST", "/v1/keys"),
    ("GET", "/v1/keys"), ("DELETE", "/v1/keys/key_01m5t4yg394wegr3j4y01qb363"), ("GET", "/v1/auth/session"),
    ("GET", "/v1/requests/"),
)  # fmt: skip
_METHODS = ("POST", "GET", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD", "TRACE", "PROPFIND")
_QUERY_KEYS = ("beta", "model", "status", "since", "limit", "cursor", "x", "", "limit%00", "%ff")
_QUERY_VALUES = (
    "", "true", "20", "0", "101", "-1", "1e2", "4xx", "600", "2026-07-26", "2026-07-26T12:00:00+02:00",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00", "b3os/qwen3.5-9b", "A" * 32, "%00", "%ff", "a" * 3000,
    "%D9%A1",
)  # fmt: skip
_HEADER_TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=60)
_HEADERS = (
    "x-request-id", "request-id", "server-timing", "x-b3os-node-token", "x-b3os-details", "x-b3os-csrf",
    "user-agent", "accept", "accept-encoding", "content-encoding", "x-forwarded-for", "retry-after",
    "anthropic-version",
)  # fmt: skip
_HEADER_NAMES = st.sampled_from(_HEADERS) | st.from_regex(r"[a-z][a-z0-9!#$%&'*+.^_`|~-]{0,30}", fullmatch=True)


@st.composite
def mangled_json(draw: st.DrawFn) -> bytes:
    """The text of a request, with bytes of it cut, repeated or replaced by something that only looks like JSON."""
    value: Any = draw(st.one_of(valid(), almost_valid(), JUNK))
    data = json.dumps(value, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 40)))
        match draw(st.integers(0, 3)):
            case 0:
                data = data[:start] + draw(st.sampled_from(_SNIPPETS)) + data[end:]
            case 1:
                data = data[:start]
            case 2:
                data = data[:end] + data[start:]
            case _:
                data = data[:start] + draw(st.binary(max_size=8)) + data[end:]
    return data


@st.composite
def nested(draw: st.DrawFn) -> bytes:
    """A request with something deep in a place where depth is free, or everywhere."""
    opening, closing = draw(st.sampled_from([(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")]))
    levels = draw(st.sampled_from([10, 31, 32, 33, 126, 127, 128, 129, 1000, 100_000]))
    deep = (
        opening * levels
        + draw(st.sampled_from([b"1", b"", b'"x"']))
        + (closing * levels if draw(st.booleans()) else b"")
    )
    body = json.dumps(draw(valid())).encode()
    return draw(st.sampled_from([deep, body[:-1] + b',"tools":[{"name":"f","input_schema":{"a":' + deep + b"}}]}"]))


BODIES = st.one_of(
    mangled_json(), nested(), st.binary(max_size=200), st.sampled_from([b"", b" ", b"null", b"[]", b"{}"])
)


@st.composite
def strange_requests(draw: st.DrawFn) -> Request:
    """Routes and what is like one, with any headers HTTP can carry."""
    method, path = draw(st.sampled_from(_ROUTES))
    match draw(st.integers(0, 5)):
        case 0:
            method = draw(st.sampled_from(_METHODS))
        case 1:
            path = "/" + "/".join(draw(st.lists(st.sampled_from(_SEGMENTS), max_size=6)))
    pairs = draw(st.lists(st.tuples(st.sampled_from(_QUERY_KEYS), st.sampled_from(_QUERY_VALUES)), max_size=3))
    query = "&".join(f"{key}={value}" for key, value in pairs)
    headers = draw(st.lists(st.tuples(_HEADER_NAMES, _HEADER_TEXT), max_size=4))
    if not draw(st.integers(0, 3)):
        headers += draw(st.lists(st.sampled_from(_CREDENTIALS), min_size=1, max_size=2))
    headers.append(("content-type", draw(st.sampled_from(_CONTENT_TYPES))))
    return Request(
        body=draw(st.none() | valid().map(lambda body: json.dumps(body).encode()) | BODIES),
        headers=headers,
        method=method,
        target=path + ("?" + query if query else ""),
    )


@st.composite
def count_requests(draw: st.DrawFn) -> Request:
    """A body for the count route, most of them JSON, a few declared as something else."""
    body = draw(
        st.one_of(valid().map(_text), valid().map(_text), almost_valid().map(_text), almost_valid().map(_text), BODIES)
    )
    if draw(st.integers(0, 9)):
        return Request(body)
    return Request(body, [("content-type", draw(st.sampled_from(_CONTENT_TYPES)))])


def _text(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
