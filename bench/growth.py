"""How the time of a count grows with the request, and what hostile text costs a byte."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence

from bench.counters import Ours
from bench.machine import described
from bench.options import Options, models
from bench.report import table
from bench.samples import Spread, interleaved
from bench.texts import Json, agent, body, slice_of, tool

TITLE = "Growth"
MODEL = "qwen3.5-9b"
TOKENS = (1_000, 8_000, 30_000, 100_000, 200_000)
TOOLS = (1, 10, 100)
MESSAGES = (1, 10, 100, 1_000)
BYTES = (250_000, 500_000, 1_000_000)
COMBINING = [chr(code) for code in range(0x300, 0x370)]
EMOJI = [chr(code) for code in range(0x1F600, 0x1F640)]
BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
Make = Callable[[random.Random, int], Json]


def section(options: Options) -> str:
    """The tables of the document."""
    ours = Ours.restored(models()[MODEL])
    grown = [
        *grow(ours, "tokens", TOKENS, lambda dice, size: agent(dice, 4 * size, tools=0), options.rounds),
        *grow(ours, "tools", TOOLS, lambda dice, size: agent(dice, 4000, tools=size), options.rounds),
        *grow(ours, "messages", MESSAGES, lambda dice, size: agent(dice, 100 * size, 0, size), options.rounds),
    ]
    hostile = [row for name, make in HOSTILE.items() for row in cost(ours, name, make, options.few)]
    return f"""
{described("tokenizers", "fastokens", "jinja2", "pydantic-core")}
`make bench`: {MODEL} as a snapshot holds it, from JSON text to the number, of new text each time;
{options.rounds} times in turn, hostile text {options.few} times.

{table(["of", "number", "tokens", "ms", "us a token"], grown)}

Hostile text, of a quarter, half and all of a megabyte or of the number named:

{table(["text", "bytes", "tokens", "ms", "ns a byte", "a byte, times that of the shortest"], hostile)}
"""


def grow(ours: Ours, what: str, sizes: Sequence[int], make: Make, rounds: int) -> Iterator[list[str]]:
    """A row a size."""
    for size, (taken, _, tokens) in measured(ours, sizes, make, rounds).items():
        milliseconds = Spread.of([1000 * each for each in taken])
        each_token = Spread.of([1e6 * seconds / tokens for seconds in taken])
        yield [what, f"{size:,}", f"{tokens:,}", milliseconds.show(2), each_token.show(3)]


def cost(ours: Ours, name: str, make: Make, rounds: int) -> Iterator[list[str]]:
    """A row a size."""
    sizes = NUMBERS.get(name, BYTES)
    shortest = 0.0
    for taken, length, tokens in measured(ours, sizes, make, rounds).values():
        each_byte = Spread.of([1e9 * seconds / length for seconds in taken])
        shortest = shortest or each_byte.median
        milliseconds = Spread.of([1000 * each for each in taken]).show(1)
        yield [
            name,
            f"{length:,}",
            f"{tokens:,}",
            milliseconds,
            each_byte.show(1),
            f"{each_byte.median / shortest:.2f}",
        ]


def measured(
    ours: Ours, sizes: Sequence[int], make: Make, rounds: int
) -> Mapping[int, tuple[Sequence[float], int, int]]:
    """By the size: seconds of each round, bytes and tokens; a request is counted once."""
    dice, model = random.Random(1), ours.counter.model.id  # noqa: S311 - no secret
    bodies = {size: [body(model, make(dice, size)) for _ in range(rounds + 2)] for size in sizes}
    facts = {size: (len(each[-1]), ours.count(each.pop())) for size, each in bodies.items()}

    def counted(left: list[bytes]) -> Callable[[], int]:
        return lambda: ours.count(left.pop())

    seconds = interleaved({str(size): counted(each) for size, each in bodies.items()}, rounds)
    return {size: (seconds[str(size)], *facts[size]) for size in sizes}


def _text(content: str) -> Json:
    return {"messages": [{"role": "user", "content": content}]}


def _one_character(dice: random.Random, size: int) -> Json:
    return _text(dice.choice("abcdefghijklmnopqrstuvwxyz") * (size - dice.randrange(1000)))


def _spaces(dice: random.Random, size: int) -> Json:
    return _text(f"a{' ' * (size - dice.randrange(1000))}b")


def _drawn(characters: Sequence[str], size: int) -> Callable[[random.Random, int], Json]:
    return lambda dice, bytes_: _text("a" + "".join(dice.choices(characters, k=bytes_ // size)))


def _tiny_messages(dice: random.Random, size: int) -> Json:
    return {"messages": [{"role": ("user", "assistant")[n % 2], "content": slice_of(dice, 5)} for n in range(size | 1)]}


def _schema(dice: random.Random, size: int) -> Json:
    return _text("Go on.") | {"tools": [tool(dice, 0, parameters=size)]}


HOSTILE: Mapping[str, Make] = {
    "one character": _one_character,
    "spaces": _spaces,
    "combining marks": _drawn(COMBINING, 2),
    "base64": _drawn(BASE64, 1),
    "emoji": _drawn(EMOJI, 4),
    "tiny messages": _tiny_messages,
    "a tool's schema": _schema,
}
# Of messages; of parameters, 600 of which are some 60 KB.
NUMBERS = {"tiny messages": (2_500, 5_000, 10_000), "a tool's schema": (150, 300, 600)}
