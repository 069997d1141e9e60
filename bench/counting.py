"""How long a count takes in process, by model and length, against transformers and the tokenizers library."""

import gc
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.counters import Ours, Plain, Transformers
from bench.machine import described
from bench.options import Options, models
from bench.report import table
from bench.samples import Spread, interleaved, ratios
from bench.texts import agent, body, short

TITLE = "Counting in process"
LENGTHS = (30, 8_000, 120_000)
IN_A_ROW = 5
HEAD = (
    "model",
    "tokens",
    "text",
    "ms",
    "tokens a second",
    "tokenizers, ms",
    "transformers, ms",
    "times as fast as tokenizers",
    "times as fast as transformers",
)
Count = Callable[[bytes], int]


def section(options: Options) -> str:
    """The table of the document."""
    rows = [row for name, folder in models().items() for row in model_rows(name, folder, options)]
    return f"""
{described("tokenizers", "fastokens", "transformers", "jinja2", "pydantic-core")}
`make bench`: the counter as a snapshot holds it, from a request's JSON text to the number, {options.rounds} times
({options.few} times with {LENGTHS[-1]:,} tokens) in turn with transformers' `apply_chat_template` and with the compiled
template before plain `tokenizers`, on the same requests; each time {IN_A_ROW} requests in a row, of which the median
counts. An agent's request with 20 tools, but for the shortest; seen: the same again and again; unseen: new text each
time.

{table(HEAD, rows)}
"""


def model_rows(name: str, folder: Path, options: Options) -> Iterator[list[str]]:
    """The rows of a model."""
    ours = Ours.restored(folder)
    ways: dict[str, Count] = {
        "ours": ours.count,
        "tokenizers": Plain(folder).count,
        "transformers": Transformers(folder).count,
    }
    # As a function does once it has started, for all ways alike.
    gc.collect()
    gc.freeze()
    for length in LENGTHS:
        rounds = options.few if length == LENGTHS[-1] else options.rounds
        bodies = requests(ours, length, IN_A_ROW * rounds + 2)
        tokens = {way: count(bodies[0]) for way, count in ways.items()}
        assert len(set(tokens.values())) == 1, tokens
        for text, each in (("seen", bodies[:1] * len(bodies)), ("unseen", bodies[1:])):
            yield [name, str(tokens["ours"]), text, *figures(ways, each, tokens["ours"], rounds)]


def requests(ours: Ours, tokens: int, number: int) -> list[bytes]:
    """So many different requests of about so many tokens."""
    dice, model = random.Random(tokens), ours.counter.model.id  # noqa: S311 - no secret
    if tokens < 100:
        return [body(model, short(dice)) for _ in range(number)]
    # From what a draft has, to the length that is wanted; no more, since the next are of other texts.
    draft = agent(dice, 4 * tokens)
    characters = int(0.98 * 4 * tokens * tokens / ours.count(body(model, draft)))
    return [body(model, agent(dice, characters)) for _ in range(number)]


def figures(ways: dict[str, Count], bodies: Sequence[bytes], tokens: int, rounds: int) -> list[str]:
    """What a row says of the ways' times, each counting these bodies once."""

    def through(count: Count) -> Callable[[], int]:
        left = iter(bodies)
        return lambda: count(next(left))

    seconds = interleaved({name: through(count) for name, count in ways.items()}, rounds, IN_A_ROW)
    shown = {name: Spread.of([1000 * each for each in taken]).show(2) for name, taken in seconds.items()}
    speed = tokens / Spread.of(seconds["ours"]).median
    faster = [ratios(seconds, "ours", other).show(1) for other in ("tokenizers", "transformers")]
    return [shown["ours"], f"{speed:,.0f}", shown["tokenizers"], shown["transformers"], *faster]
