"""The strings on which two engines are compared, the same for the same `tokenizer.json`.

They hold what engines are known to differ in: every code point of the planes in use beside letters and spaces, marks,
emoji, runs of whitespace, code, added tokens whole and broken, the vocabulary's own entries, and all of it mixed.
"""

import random
from collections.abc import Iterator
from itertools import chain, product
from typing import Any

# Where there are characters: not the surrogates, nor the ideographs after the first thousands.
PLANES = [(0, 0xD800), (0xE000, 0x20000), (0x2FF00, 0x32400), (0xE0000, 0xE0200)]
MARKS = (
    "\u0300\u0301\u0327\u0345\u05b8\u0651\u093c\u094d\u0e31\u1ab0\u1dc0\u20d0\u3099\ufe20\U0001d165\U0001e8d0\U00010efd"
)
_EMOJI = "😀 👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇨🇭🇯🇵 ❤️ 1️⃣ 🫨 \U0001f9d1\u200d\U0001f9bd\u200d\u27a1\ufe0f"
SPACES = " \t\n\r\x0b\x0c\x1c\x85\u00a0\u1680\u2002\u200b\u2028\u2029\u202f\u3000\ufeff"
_WORDS = """
    hello Straße don't I'LL it’s naïve ﬁn ǅ 日本語 한국어 हिन्दी ไทย عربي עִבְרִית Ελληνικά кириллица 0
    12345678 ٣٤٥ ²³ Ⅷ 3.14e-10 snake_case camelCase HTTPServer ... — !!! </ |> <| ``` :// == �
"""
EMOJI = _EMOJI.split()
WORDS = [
    *_WORDS.split(),
    "\u1112\u1161\u11ab",
    "\\n",
    "\x00",
    "\x7f",
    "\U000e0041",
    "\U0010ffff",
]
CODE = [
    'def f(x: int) -> "str":\n    """Doc."""\n\n    return f"{x!r:>10}"  # ok\n',
    "for (let i = 0; i < n; ++i) {\n\t\tconsole.log(`${i}`);\r\n\t}\r\n",
    '{"type": "object", "properties": {"a/b": {"$ref": "#/$defs/A"}}, "required": [ ]}\n',
    "SELECT * FROM t WHERE a <> 'it''s' AND b >= 1e3;\n\n\n--  end",
    '#include <stdio.h>\nint main(void){printf("%d\\n",0x1F&~3);}\n        \n',
]


def strings(tokenizer: dict[str, Any]) -> Iterator[str]:
    """All of them; `tokenizer` is the parsed file."""
    dice = random.Random(0)  # noqa: S311 - no secret
    tokens = [token["content"] for token in tokenizer["added_tokens"]]
    vocabulary = tokenizer["model"]["vocab"]
    entries = [entry.replace("Ġ", " ").replace("▁", " ").replace("Ċ", "\n") for entry in vocabulary]
    entries = dice.sample(entries, min(len(entries), 4000))
    yield from _code_points()
    yield from _runs()
    yield from _around_tokens(dice.sample(tokens, min(len(tokens), 200)))
    yield from entries
    yield from CODE
    yield from _mixed(dice, [tokens or [""], entries or [""], WORDS, EMOJI, list(SPACES), list(MARKS), CODE])


def _code_points() -> Iterator[str]:
    """All of the planes with characters, few at a time and in company."""
    for first in chain.from_iterable(range(*plane, 32) for plane in PLANES):
        characters = [chr(point) for point in range(first, first + 32)]
        yield "".join(characters)
        for company in ("a{}", " {}1", "e{}\u0301", "\n{}."):
            yield "".join(map(company.format, characters))


def _runs() -> Iterator[str]:
    """Whitespace, marks and letters by themselves and between others."""
    for character, length in product(SPACES + MARKS + "aA0.-=字", [1, 2, 3, 4, 5, 8, 16, 17, 33, 64, 100, 1000]):
        run = character * length
        yield from (run, f"a{run}b", f"\n{run}\r\n{run} 1")


def _around_tokens(tokens: list[str]) -> Iterator[str]:
    for token in tokens:
        yield from (token, token * 2, f"a{token}b", f" {token} ", f"\n{token}\n", f"e{token}\u0301", f"<{token}>")
        yield from (token[1:], token[:-1], f"{token[:-1]} {token}", token.upper())


def _mixed(dice: random.Random, pools: list[list[str]]) -> Iterator[str]:
    def text(length: int) -> str:
        # Also any code point: most are in no pool.
        parts = [dice.choice(dice.choice(pools)) if dice.random() < 0.9 else _any(dice) for _ in range(length)]
        return "".join(parts)

    yield from (text(dice.randint(1, 40)) for _ in range(3000))
    # Longer than what is encoded at once, where an engine may part its work.
    yield from (text(5000) for _ in range(2))


def _any(dice: random.Random) -> str:
    return chr(dice.choice([dice.randrange(0xD800), dice.randrange(0xE000, 0x110000)]))
