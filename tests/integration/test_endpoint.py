"""The endpoint with the model's own processor: what it counts, what it refuses, how it starts and ends."""

import json
import math
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import transformers
from PIL import Image as Pillow
from transformers.utils import is_torchvision_available

from endpoint.counting import EndpointCounter
from endpoint.processor import load_processor
from tests.conftest import LAYERS
from tests.support.endpoint import SERVE, EndpointProcess, endpoint_process, serving
from tests.support.pictures import draw
from tests.support.requests import EXAMPLE, assistant, image, picture, request, text, tool, user
from tokencount.adapters.model_files import BrokenLayer
from tokencount.domain.chat import to_chat
from tokencount.domain.counting import Counter
from tokencount.domain.errors import InvalidRequest

MODEL = LAYERS / "qwen3.5-9b" / "model"
NEVER = float("inf")


@pytest.fixture(scope="module")
def counter() -> EndpointCounter:
    return EndpointCounter.load(MODEL, threads=2)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[EndpointProcess]:
    with endpoint_process(SERVE, serving(MODEL)) as running:
        yield running


def count(counter: EndpointCounter, body: dict[str, Any]) -> int:
    return counter.count(body, lambda _phase: nullcontext(), NEVER)


def test_the_processor_is_the_one_the_layer_names(counter: EndpointCounter) -> None:
    assert type(counter.processor.pretrained).__mro__[1].__name__ == "Qwen3VLProcessor"
    assert type(counter.processor.pretrained.image_processor).__name__.startswith("Qwen2VLImageProcessor")


def test_the_count_is_that_of_the_processor_s_own_call_on_the_whole_request(counter: EndpointCounter) -> None:
    sizes = [(40, 30), (300, 700), (1040, 1040), (2048, 16)]
    blocks = [block for size in sizes for block in (image(picture(*size)), text(f"{size[0]} wide"))]
    body = request(user(*blocks), assistant(text("Fine.")), user("And now?"), tools=[tool("look")])
    chat = to_chat(body, counter.model.template)
    inputs = counter.processor.pretrained.apply_chat_template(
        chat.messages,
        tools=chat.tools,
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        processor_kwargs={"images": [Pillow.new("RGB", size) for size in sizes]},
    )
    assert count(counter, body) == len(inputs["input_ids"][0])


@pytest.mark.parametrize(("size", "tokens"), [((2048, 16), 91), ((1040, 1040), 1024), ((2000, 10), 114), ((1, 1), 64)])
def test_an_image_costs_what_the_processor_s_grid_says(
    size: tuple[int, int], tokens: int, counter: EndpointCounter
) -> None:
    blank = count(counter, request(user(""))) + 2
    assert count(counter, request(user(image(picture(*size))))) - blank == tokens


def test_sides_that_differ_more_than_the_processor_takes_are_refused_with_the_block(counter: EndpointCounter) -> None:
    with pytest.raises(InvalidRequest, match="ratio") as refusal:
        count(counter, request(user(text("a"), image(picture(2001, 10)))))
    assert refusal.value.param == "messages.0.content.1"


def test_the_placeholder_in_a_text_is_refused_with_images_as_the_function_refuses_it(counter: EndpointCounter) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        count(counter, request(user(text("see <|image_pad|>"), image(picture(8, 8)))))
    assert refusal.value.param == "messages.0.content.0.text"


def test_a_video_placeholder_in_a_text_is_one_token_with_images_too(counter: EndpointCounter, qwen: Counter) -> None:
    plain, marked = (
        request(user(text("a"), image(picture(8, 8)))),
        request(user(text("a<|video_pad|>"), image(picture(8, 8)))),
    )
    assert count(counter, marked) == count(counter, plain) + 1


def test_what_the_template_refuses_is_the_client_s_error_with_the_template_s_words(counter: EndpointCounter) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}}
    with pytest.raises(InvalidRequest, match="No user query found in messages"):
        count(counter, request(assistant("x"), assistant(call)))


def test_a_layer_whose_file_changed_is_not_loaded(tmp_path: Path) -> None:
    shutil.copytree(MODEL, tmp_path / "model")
    (tmp_path / "model" / "chat_template.jinja").write_text("{{ messages }}")
    with pytest.raises(BrokenLayer, match=r"chat_template\.jinja"):
        EndpointCounter.load(tmp_path / "model", threads=1)


def test_a_layer_that_names_no_processor_is_not_loaded(tmp_path: Path, counter: EndpointCounter) -> None:
    (tmp_path / "preprocessor_config.json").write_text("{}")
    with pytest.raises(BrokenLayer, match="names no processor"):
        load_processor(tmp_path, counter.model.template)


def test_the_container_is_healthy_once_it_is_loaded() -> None:
    with endpoint_process(SERVE, serving(MODEL), wait=False) as endpoint:
        said = endpoint.wait_until_healthy()
        assert [status for status in said if status is not None] == [503, 200]
        assert endpoint.terminate() == (0, "")


def test_sigterm_lets_what_is_under_way_be_answered_and_nothing_new_begin() -> None:
    body = json.dumps(EXAMPLE).encode()
    head = (
        f"POST /invocations HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    with (
        endpoint_process(SERVE, serving(MODEL)) as endpoint,
        socket.create_connection(("127.0.0.1", endpoint.port), timeout=60) as connection,
    ):
        connection.sendall(head.encode())
        # It asks for the body only once it is at work on the request.
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        endpoint.process.send_signal(signal.SIGTERM)
        while endpoint.ping() is not None:
            time.sleep(0.02)
        connection.sendall(body)
        answer = connection.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b'{"input_tokens":27}')
        assert endpoint.process.wait(60) == 0


def test_a_model_that_cannot_be_loaded_ends_the_container_with_its_reason(tmp_path: Path) -> None:
    with endpoint_process(SERVE, serving(tmp_path), wait=False) as endpoint:
        output, _ = endpoint.process.communicate(timeout=60)
    assert endpoint.process.returncode == 1
    assert "model.json cannot be read" in output


def test_requests_side_by_side_each_get_their_own_answer(endpoint: EndpointProcess) -> None:
    answers: dict[int, tuple[int, Any]] = {}

    def ask(images: int) -> None:
        answers[images] = endpoint.invoke(request(user(*[image(picture(256, 256))] * images)))

    threads = [threading.Thread(target=ask, args=(images,)) for images in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    blank = answers[1][1]["input_tokens"] - 66
    assert answers == {images: (200, {"input_tokens": blank + images * 66}) for images in range(1, 9)}


def test_an_image_that_cannot_be_decoded_is_an_answer_that_names_the_block(endpoint: EndpointProcess) -> None:
    torn = picture(500, 500)[:-400]
    content = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("a"), image(torn)]}]
    call = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}}
    status, answer = endpoint.invoke(request(user("go"), assistant(call), user(*content)))
    assert status == 200
    assert answer["error"] == {
        "code": "invalid_request",
        "message": "The image/png image cannot be decoded",
        "param": "messages.2.content.0.content.1.source.data",
    }
    assert endpoint.invoke(EXAMPLE) == (200, {"input_tokens": 27})


@pytest.mark.torch
def test_torchvision_s_processor_counts_the_same_as_pillow_s(counter: EndpointCounter) -> None:
    if not is_torchvision_available():
        pytest.skip("torch and torchvision are not installed; the endpoint's image has them (locks/endpoint.txt)")
    images: Any = counter.processor.pretrained.image_processor
    assert images.backend == "torchvision"
    pillow: Any = transformers.AutoImageProcessor.from_pretrained(MODEL, local_files_only=True, backend="pil")
    for size in [(1, 1), (40, 30), (2048, 16), (1040, 1040), (3000, 20), (2500, 1800)]:
        for mode in ("RGB", "L", "P", "RGBA", "I;16"):
            [grid] = pillow(draw(size, mode))["image_grid_thw"].tolist()
            assert images(draw(size, mode))["image_grid_thw"].tolist() == [grid]
            assert counter.processor.expand(draw(size, mode)) == "<|image_pad|>" * (math.prod(grid) // 4)
