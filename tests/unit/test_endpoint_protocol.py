"""Both ends of the endpoint's protocol agree on what a count is and what a refusal is."""

import json

import pytest

from tokencount.adapters.endpoint_protocol import read_answer, refusal, success
from tokencount.domain.errors import CountError, InvalidRequest, UnsupportedImage, UnsupportedParameter


def test_a_count_arrives_as_it_was_sent() -> None:
    assert read_answer(json.dumps(success(41050)).encode()) == 41050


@pytest.mark.parametrize("kind", [InvalidRequest, UnsupportedImage, UnsupportedParameter])
@pytest.mark.parametrize("param", ["messages.0.content.1.source.data", None])
def test_a_refusal_arrives_as_the_same_error_with_its_words_and_its_place(
    kind: type[CountError], param: str | None
) -> None:
    body = json.dumps(refusal(kind("Das Bild ist defekt: ☹", param=param))).encode()
    with pytest.raises(kind) as arrived:
        read_answer(body)
    assert (type(arrived.value), arrived.value.message, arrived.value.param) == (kind, "Das Bild ist defekt: ☹", param)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"{}", b"null", b"1", b'{"input_tokens": null}', b'{"error": {}}'),
        b'{"error": {"code": "internal", "message": "m", "param": null}}',
    ],
)
def test_what_is_neither_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"^"):
        read_answer(body)
