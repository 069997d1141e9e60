"""A layer whose files are not those it was built with counts nothing."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import LAYERS
from tests.support.requests import no_fetch
from tokencount.adapters.images import Images
from tokencount.adapters.model_files import BrokenLayer, load_counter

BUILT = LAYERS / "qwen3.5-9b" / "model"
READER = Images(no_fetch)


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    return shutil.copytree(BUILT, tmp_path / "model")


@pytest.mark.parametrize("name", ["model.json", "tokenizer.json", "chat_template.jinja"])
def test_a_missing_file_is_named_and_nothing_is_loaded(name: str, layer: Path) -> None:
    (layer / name).unlink()
    with pytest.raises(BrokenLayer, match=name):
        load_counter(layer, READER)


@pytest.mark.parametrize("name", ["tokenizer.json", "chat_template.jinja"])
def test_a_file_with_one_byte_more_is_named_and_nothing_is_loaded(name: str, layer: Path) -> None:
    with (layer / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(BrokenLayer, match=rf"{name} is not the file the layer of b3os/qwen3.5-9b was built with"):
        load_counter(layer, READER)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"id": "x"}'])
def test_a_model_file_that_is_none_is_named(text: str, layer: Path) -> None:
    (layer / "model.json").write_text(text)
    with pytest.raises(BrokenLayer, match="is not a model's data"):
        load_counter(layer, READER)
