"""What is no strict JSON is refused by name; what is comes out as the standard library reads it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokencount.domain.errors import InvalidRequest
from tokencount.domain.strict_json import depth, loads, read_slowly

NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
# What tells readers apart.
PIECES = (
    *b"1e400 -0 -0.0 1E+2 0.1 01 1. NaN -Infinity true null".split(),
    *rb'"a":1, {"a":1,"\u0061":2} [ ] { } , : " \ \u \ud83d \ude00 \u0000 \/'.split(),
    *(b" ", b"\t", b"\n", b"\x0b", b"\x7f", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xff"),
)
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(values)
def test_every_json_value_is_read_as_the_standard_library_reads_it(value: Any) -> None:
    for ascii_only in (True, False):
        body = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
        assert repr(loads(body)) == repr(json.loads(body))


def outcome(read: Callable[[bytes], Any], body: bytes) -> str:
    """What a reader makes of a body; 1, 1.0 and true are three things."""
    try:
        return repr(read(body))
    except InvalidRequest as refused:
        return refused.message


@given(NUMBERS)
def test_a_number_is_read_to_its_last_bit(text: str) -> None:
    body = f"[{text}]".encode()
    assert outcome(loads, body) == outcome(read_slowly, body)


@settings(max_examples=500)
@given(values, st.data())
def test_a_body_of_bytes_that_were_changed_is_to_both_readers_the_same(value: Any, data: st.DataObject) -> None:
    body = bytearray(json.dumps(value, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass"))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(body)))
        put = data.draw(st.sampled_from(PIECES) | st.binary(max_size=3))
        body[start : start + data.draw(st.integers(0, 3))] = put
    assert outcome(loads, bytes(body)) == outcome(read_slowly, bytes(body))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not valid JSON"),
        (b"{", "line 1, column 2"),
        (b'{"a": 1}}', "not valid JSON"),
        (b"\xff", "not UTF-8"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b'{"a": 1, "b": {"c": 1, "c": 1}}', 'the key "c" twice'),
        (b"[NaN]", "NaN"),
        (b"[-Infinity]", "-Infinity"),
        (b"[1e400]", "1e400 in the body is out of range"),
        (b'{"a": [{"b": -1e309}]}', "-1e309 in the body is out of range"),
        (b"1" + b"0" * 309 + b".5", "in the body is out of range"),
        (b"[" + b"9" * 4301 + b"]", "more than 4,300 digits"),
        (rb'["\ud800"]', r"\ud800"),
        (rb'{"\uDFFF": 1}', r"\udfff"),
        (b"[" * 129 + b"]" * 129, "at most 128"),
        (b"[" * 100_000, "at most 128|not valid JSON"),
        (b'{"a":' * 100_000, "at most 128|not valid JSON"),
        (b"\xef\xbb\xbf{}", "not valid JSON"),
        (b'["\n"]', "not valid JSON"),
    ],
)
def test_what_is_no_strict_json_is_refused_by_name(body: bytes, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words.replace("\\u", r"\\u")):
        loads(body)


def test_the_largest_of_everything_is_accepted() -> None:
    assert depth(loads(b"[" * 128 + b"]" * 128)) == 128
    assert loads(b"[" + b"9" * 4300 + b"]") == [int("9" * 4300)]
    assert loads(rb'"\ud83d\ude00"') == "😀"


@pytest.mark.parametrize(("value", "levels"), [(1, 0), ([], 1), ({"a": [1]}, 2), ([[], [[]]], 3)])
def test_depth_counts_arrays_and_objects(value: Any, levels: int) -> None:
    assert depth(value) == levels
