"""The real Anthropic Python SDK as the client of the running stack."""

import anthropic
import pytest

from local.stack import Stack
from tests.support.requests import QWEN, image, picture, text, tool, user

HELLO: anthropic.types.MessageParam = {"role": "user", "content": "hi"}


@pytest.fixture
def client(stack: Stack) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=stack.url + "/v1/infer", auth_token=stack.api_key, max_retries=0)


def test_a_count_is_one_number_with_its_request_id(client: anthropic.Anthropic) -> None:
    counted = client.messages.count_tokens(
        model=QWEN,
        system="You are a concise assistant.",
        messages=[{"role": "user", "content": "How many tokens is this?"}],
    )
    assert counted.input_tokens == 27
    assert (counted._request_id or "").startswith("req_")


def test_tools_and_an_image_add_to_the_count(client: anthropic.Anthropic) -> None:
    plain = client.messages.count_tokens(model=QWEN, messages=[HELLO]).input_tokens
    with_tool = client.messages.count_tokens(model=QWEN, messages=[HELLO], tools=[tool("search")])  # type: ignore[list-item]
    assert with_tool.input_tokens > plain
    seen = client.messages.count_tokens(model=QWEN, messages=[user(text("hi"), image(picture(256, 256)))])  # type: ignore[list-item]
    assert seen.input_tokens == plain + 64 + 2


def test_a_400_and_a_404_raise_the_sdk_s_own_classes_with_message_and_request_id(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError, match="messages must not be empty") as bad:
        client.messages.count_tokens(model=QWEN, messages=[])
    assert bad.value.request_id == bad.value.body["request_id"]  # type: ignore[index]
    with pytest.raises(anthropic.NotFoundError, match="is not served on this node"):
        client.messages.count_tokens(model="claude-sonnet-4-5", messages=[HELLO])


def test_a_wrong_key_raises_the_sdk_s_authentication_error(stack: Stack) -> None:
    stranger = anthropic.Anthropic(base_url=stack.url + "/v1/infer", auth_token="b3os_sk_x", max_retries=0)
    with pytest.raises(anthropic.AuthenticationError, match="check that the whole key was copied"):
        stranger.messages.count_tokens(model=QWEN, messages=[HELLO])
