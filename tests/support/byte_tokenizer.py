"""A tokenizer of single bytes in Llama's words: every ASCII character is a token."""

from pathlib import Path

from tokenizers import Regex, Tokenizer, models, pre_tokenizers

LLAMA = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def byte_tokenizer(folder: Path) -> Path:
    """Its file, written into the folder; the one added token is `<end>`."""
    alphabet = {byte: number for number, byte in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(alphabet, []))
    split = pre_tokenizers.Split(Regex(LLAMA), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.add_special_tokens(["<end>"])
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    return path
