"""Two layers of one model are compared over events: what changes, by how much, and what is refused by one of them."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from replay.__main__ import main
from replay.drift import Pair, compare, load_sides
from replay.drift_plot import plot
from tests.support.edge import event
from tests.support.tiny_layers import tiny_layer
from tokencount.adapters.node_protocol import COUNT_PATH
from tokencount.domain.chat import Image
from tokencount.domain.counting import ImageFile, Job
from tokencount.domain.errors import InvalidRequest

# Two tokens more for each message, and a text that it does not take.
CHANGED = (
    "{% for message in messages %}{% if 'no' in message.content %}{{ raise_exception('no') }}{% endif %}"
    "[{{ message.content }}]{% endfor %}"
)


def body(*texts: str, model: str = "test/tiny") -> dict[str, Any]:
    roles = ["user", "assistant"] * len(texts)
    return {
        "model": model,
        "messages": [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)],
    }


def write(folder: Path, **bodies: Any) -> Path:
    """The folder, with an event of a count request for each body."""
    folder.mkdir(exist_ok=True)
    for name, each in bodies.items():
        (folder / f"{name}.json").write_text(json.dumps(event("POST", COUNT_PATH, each, resource=COUNT_PATH)))
    return folder


@pytest.fixture
def layers(tmp_path: Path) -> tuple[Path, Path]:
    return tiny_layer(tmp_path / "old"), tiny_layer(tmp_path / "new", CHANGED)


def found(layers: tuple[Path, Path], *events: Path) -> dict[str, tuple[Any, Any]]:
    return {pair.id: (pair.old, pair.new) for pair in compare(*load_sides(*layers), events)}


def test_every_count_request_for_the_model_is_counted_by_both(layers: tuple[Path, Path], tmp_path: Path) -> None:
    events = write(
        tmp_path / "events", one=body("x" * 10), two=body("x" * 10, "y", "z"), other=body("x", model="test/b")
    )
    (events / "models.json").write_text(json.dumps(event("GET", "/v1/infer/models")))
    write(events, broken="{", unnamed={"messages": []})
    assert found(layers, events) == {"one": (10, 12), "two": (12, 18)}


def test_a_recording_counts_as_the_event_that_it_holds_and_a_layer_is_its_folder_or_the_model_in_it(
    layers: tuple[Path, Path], tmp_path: Path
) -> None:
    recording = {"record": {"id": "req_1"}, "event": event("POST", COUNT_PATH, body("xyz"), resource=COUNT_PATH)}
    (tmp_path / "req_1.json").write_text(json.dumps(recording))
    old, new = layers
    assert found((old / "model", new / "model"), tmp_path / "req_1.json") == {"req_1": (3, 5)}


def test_what_a_layer_refuses_is_its_code_and_a_body_that_no_layer_takes_is_refused_by_both(tmp_path: Path) -> None:
    layers = tiny_layer(tmp_path / "old", max_request_bytes=150), tiny_layer(tmp_path / "new", CHANGED)
    events = write(tmp_path / "events", no=body("no"), long=body("x" * 90), wrong=body("x") | {"top_k": 1})
    assert found(layers, events) == {
        "no": (2, "invalid_request"),
        "long": ("payload_too_large", 92),
        "wrong": ("unsupported_parameter", "unsupported_parameter"),
    }


def test_a_count_over_the_context_length_is_a_count_all_the_same(layers: tuple[Path, Path], tmp_path: Path) -> None:
    events = write(tmp_path / "events", below=body("x" * 98), at=body("x" * 99), over=body("x" * 200))
    assert found(layers, events) == {"at": (99, 101), "below": (98, 100), "over": (200, 202)}


REPORT = """\
requests                     7
changed                      5  100.0% of those that both count
now over the context length  1
no longer over it            0
refused by old alone         0
refused by new alone         1
refused by both, alike       1
refused by both, otherwise   0

difference of those  smallest  median  largest  largest absolute
tokens                     +2      +2       +6                 6
relative               +1.00%  +2.04%  +50.00%            50.00%

largest changes  old  new  tokens  relative
loop              12   18      +6   +50.00%
at                99  101      +2    +2.02%
"""


def test_the_table_tells_how_many_changed_by_how_much_and_which_the_most(
    layers: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "events", at=body("x" * 99), below=body("x" * 98), over=body("x" * 200), short=body("x" * 50))
    events = write(tmp_path / "events", loop=body("x" * 10, "y", "z"), no=body("no"), none=body("x") | {"top_k": 1})
    assert main(["--drift", *map(str, layers), str(events)]) == 1
    title, _, table = capsys.readouterr().out.partition("\n\n")
    revisions = [json.loads((layer / "model" / "model.json").read_text())["tokenizer_revision"] for layer in layers]
    assert title == f"test/tiny, revision {revisions[0]} -> {revisions[1]}"
    assert table.startswith(REPORT)
    assert table.endswith(
        "\n\nrefused by one, or otherwise  old              new\nno                              2  invalid_request\n"
    )


def test_a_request_that_both_refuse_with_other_codes_is_counted_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layers = tiny_layer(tmp_path / "old", CHANGED), tiny_layer(tmp_path / "new", CHANGED, max_request_bytes=10)
    assert main(["--drift", *map(str, layers), str(write(tmp_path / "events", no=body("no")))]) == 1
    table = capsys.readouterr().out
    assert "\nrefused by both, alike       0\nrefused by both, otherwise   1\n" in table
    assert table.splitlines()[-1].split() == ["no", "invalid_request", "payload_too_large"]


@pytest.mark.parametrize("refusing", [0, 1])
def test_what_only_one_layer_counts_has_not_passed_the_context_length_in_either_direction(
    refusing: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layers = [tiny_layer(tmp_path / "counts"), tiny_layer(tmp_path / "refuses", max_request_bytes=150)]
    old, new = layers[::-1] if refusing == 0 else layers
    assert main(["--drift", str(old), str(new), str(write(tmp_path / "events", over=body("x" * 200)))]) == 1
    table = capsys.readouterr().out
    assert "\nnow over the context length  0\nno longer over it            0\n" in table
    assert f"\nrefused by {'new' if refusing else 'old'} alone         1\n" in table


def test_of_the_largest_changes_ten_are_named(
    layers: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = write(tmp_path / "events", **{f"event{number}": body(*["x"] * (2 * number + 1)) for number in range(12)})
    main(["--drift", *map(str, layers), str(events)])
    _, _, largest = capsys.readouterr().out.partition("largest changes")
    assert [line.split()[0] for line in largest.splitlines()[1:]] == [f"event{number}" for number in range(11, 1, -1)]


@pytest.mark.parametrize(("context_length", "code"), [(100, 0), (5, 1)])
def test_exit_code_0_says_that_nothing_differs_and_1_that_something_does(
    tmp_path: Path, context_length: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    layers = tiny_layer(tmp_path / "old"), tiny_layer(tmp_path / "new", context_length=context_length)
    events = write(tmp_path / "events", one=body("x" * 10))
    assert main(["--drift", *map(str, layers), str(events)]) == code
    assert "changed                      0  0.0% of those that both count" in capsys.readouterr().out


def test_an_image_elsewhere_is_fetched_once_for_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = {"rule": "fixed", "placeholder": "@", "expansion": "@", "tokens": 7}
    layers = tiny_layer(tmp_path / "old", image=image), tiny_layer(tmp_path / "new", image=image)
    asked = []

    def read(images: Sequence[Image], job: Job) -> list[ImageFile]:
        asked.append(len(images))
        raise InvalidRequest("no such host")

    monkeypatch.setattr("replay.drift.guarded_images", lambda: read)
    block = {"type": "image", "source": {"type": "url", "url": "https://images.example/a.png"}}
    request = {"model": "test/tiny", "messages": [{"role": "user", "content": [block]}]}
    events = write(tmp_path / "events", one=request, two=request)
    assert found(layers, events) == dict.fromkeys(("one", "two"), ("invalid_request",) * 2)
    assert asked == [1, 1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["old", "none", "events"], "none/model.json cannot be read: No such file or directory"),
        (["old", "other", "events"], "is a layer of test/tiny, and "),
        (["old", "new", "nowhere.json"], "nowhere.json cannot be read: No such file or directory"),
        (["old", "new", "events"], "of 1 events none is a count request for test/tiny"),
        (["old", "new", "bad.json"], "bad.json is no JSON object"),
        (["old", "new", "events", "--plot", "a.png"], "--plot needs matplotlib, which is not installed here: "),
    ],
)
def test_what_cannot_be_compared_is_one_sentence_and_exit_code_2(
    layers: tuple[Path, Path], tmp_path: Path, arguments: list[str], told: str,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    tiny_layer(tmp_path / "other", id="test/other")
    write(tmp_path / "events", other=body("x", model="test/b"))
    (tmp_path / "bad.json").write_text("[]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["--drift", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("replay: ")
    assert told in output.err
    assert output.err.count("\n") == 1


def test_the_picture_is_a_png(tmp_path: Path) -> None:
    figure = pytest.importorskip("matplotlib.figure", reason="matplotlib is installed by whoever wants pictures").Figure
    plot(tmp_path / "drift.png", "test/tiny", [Pair("a", 10, 12), Pair("b", 5, "invalid_request")], figure)
    assert (tmp_path / "drift.png").read_bytes().startswith(b"\x89PNG")
