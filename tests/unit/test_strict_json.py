"""What is no strict JSON is refused by name; what is comes out as the standard library reads it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokencount.domain.errors import InvalidRequest
from tokencount.domain.strict_json import depth, loads

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(values)
def test_every_json_value_is_read_as_the_standard_library_reads_it(value: Any) -> None:
    for ascii_only in (True, False):
        body = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
        assert loads(body) == json.loads(body)


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
