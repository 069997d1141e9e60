"""The tokenizer adds nothing of its own: what a template writes is all there is."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from tokencount.adapters.tokenizer import HuggingFaceTokenizer


@pytest.fixture
def with_bos(tmp_path: Path) -> HuggingFaceTokenizer:
    """A tokenizer whose post-processor would put a BOS in front, as Gemma's and Llama's do."""
    tokenizer = Tokenizer(models.WordLevel({"<bos>": 0, "hi": 1, "?": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(["<bos>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 0)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return HuggingFaceTokenizer(tmp_path / "tokenizer.json")


def test_the_template_s_bos_is_the_only_one(with_bos: HuggingFaceTokenizer) -> None:
    assert with_bos.count("<bos>hi") == 2
    assert with_bos.count("hi") == 1
