"""The document's schemas and the code's validation accept the same bodies.

What a schema cannot say is judged after it, and only then: unique tool names, the size and depth of `input_schema`,
a `tool_choice` that needs `tools` or one of them (`domain.checks`); of a key, an `expires_at` that has passed.
"""

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator
from pydantic_core import to_json

from docs.openapi.document import document
from docs.openapi.schemas import ref
from tests.fuzz.grammar import JUNK, almost_valid, valid
from tests.support.requests import EXAMPLE, assistant, request, text, tool, user
from tokencount.adapters.validation import validate
from tokencount.domain.checks import check
from tokencount.domain.credentials import SCOPES
from tokencount.domain.errors import CountError
from tokencount.domain.keys import read_key_request

COMPONENTS = document()["components"]
EARLY = datetime(1, 1, 2, tzinfo=UTC)  # nothing has passed yet
MANY = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))


def schema_of(name: str) -> Draft202012Validator:
    return Draft202012Validator(ref(name) | {"components": COMPONENTS}, validate_formats=True)


REQUEST, NEW_KEY = schema_of("CountTokensRequest"), schema_of("NewKey")


def is_accepted(body: Any) -> bool:
    try:
        validate(body)
    except CountError as error:
        return refused_by_what_no_schema_says(body, str(error))
    return True


def refused_by_what_no_schema_says(body: Any, message: str) -> bool:
    with suppress(KeyError, TypeError, AttributeError, ValueError, IndexError):  # of a body that fits no schema
        try:
            check(body, to_json)
        except CountError as error:
            return str(error) == message
    return False


@MANY
@given(valid() | almost_valid())
def test_a_body_is_accepted_exactly_where_it_fits_the_document_s_schema(body: Any) -> None:
    assert is_accepted(body) == REQUEST.is_valid(body), json.dumps(body)


EDGES: dict[str, list[Any]] = {
    "model": ["", "x", "x" * 256, "x" * 257, "😀" * 256, "😀" * 257, None],
    "messages": [[], {}, None, "", [[]], [user()], [assistant()], [user("")], [user(None)]],
    "system": [None, "", [], [text("x")], {}, [None], [user("x")], 1],
    "tools": [None, [], *([tool(name)] for name in ("f", "f\n", "", "f" * 128, "f" * 129, "é", "a b", "\nf"))],
    "tool_choice": [None, {}, {"type": "none", "name": "f"}, {"type": None}, "auto", []],
}
NUMBERS = [1024, 1024.0, 1024.5, 1023, 1023.0, 1e300, True, "1024", None]
ADDRESSES = ["https://", "https:/", "http://x", " https://x", "HTTPS://x", "x\nhttps://x"]
IGNORED: list[Any] = [None, {}, {"type": 1}, {"ttl": None}, {"x": 1}, [], [{}], [{"x": 1}], [1]]
CHANGES = [
    *((name, value) for name, values in EDGES.items() for value in values),
    *(("thinking", {"type": "enabled", "budget_tokens": number}) for number in NUMBERS),
    *(("messages", [user({"type": "image", "source": {"type": "url", "url": url}})]) for url in ADDRESSES),
    *(("messages", [user(text("x") | {"cache_control": value})]) for value in IGNORED),
    *(("messages", [user(text("x") | {"citations": value})]) for value in IGNORED),
]


@pytest.mark.parametrize(("name", "value"), CHANGES, ids=range(len(CHANGES)))
def test_at_the_edges_of_the_schema_both_say_the_same(name: str, value: Any) -> None:
    body = EXAMPLE | {name: value}
    assert is_accepted(body) == REQUEST.is_valid(body), json.dumps(body)


@pytest.mark.parametrize(
    "body",
    [
        request(user("a"), tools=[tool("f"), tool("f")]),
        request(user("a"), tools=[tool("f") | {"input_schema": {"a": "x" * 65_536}}]),
        request(user("a"), tool_choice={"type": "any"}),
        request(user("a"), tools=[tool("f")], tool_choice={"type": "tool", "name": "g"}),
    ],
)
def test_what_no_schema_says_is_refused_though_the_body_fits_the_schema(body: Any) -> None:
    assert REQUEST.is_valid(body)
    with pytest.raises(CountError):
        validate(body)


MOMENTS = st.sampled_from(["2026-07-26T12:00:00Z", "9998-12-31T23:59:59+02:00", "tomorrow", ""])
CAPS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([10**308, 10**309])
KEYS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.text(max_size=101) | JUNK,
        "scopes": st.lists(st.sampled_from((*SCOPES, "other")), max_size=3) | JUNK,
        "expires_at": st.none() | MOMENTS | st.integers(),
        "spend_cap": st.none() | CAPS | JUNK,
        "other": JUNK,
    },
)


@MANY
@given(KEYS | JUNK)
def test_a_key_may_be_asked_for_exactly_as_the_document_says(body: Any) -> None:
    try:
        read_key_request(body, EARLY)
        accepted = True
    except CountError:
        accepted = False
    assert accepted == NEW_KEY.is_valid(body), json.dumps(body)
