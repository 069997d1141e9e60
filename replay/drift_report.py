"""What changed between two layers, as text."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from replay.drift import Pair, Side

SHOWN = 10
Rows = list[list[str]]


@dataclass(frozen=True, slots=True)
class Change:
    """A request that both layers counted, and not alike."""

    id: str
    old: int
    new: int

    @property
    def tokens(self) -> int:
        """How many more the new layer counts."""
        return self.new - self.old

    @property
    def relative(self) -> float:
        """The same as a part of the old count."""
        return self.tokens / max(self.old, 1)


def changes(pairs: Sequence[Pair]) -> list[Change]:
    """The changed counts, the largest first."""
    found = [
        Change(pair.id, pair.old, pair.new)
        for pair in pairs
        if isinstance(pair.old, int) and isinstance(pair.new, int) and pair.old != pair.new
    ]
    return sorted(found, key=lambda change: -abs(change.tokens))


def report(old: Side, new: Side, pairs: Sequence[Pair]) -> str:
    """The table: how many requests changed, by how much, and which of them the most."""
    changed = changes(pairs)
    parts = [_numbers(old, new, pairs, len(changed))]
    if changed:
        parts += [_differences(changed), _largest(changed)]
    if refused := list(_refused_not_alike(pairs)):
        parts.append([["refused by one, or otherwise", "old", "new"], *refused[:SHOWN]])
    title = f"{old.model.id}, revision {old.model.tokenizer_revision} -> {new.model.tokenizer_revision}"
    return "\n\n".join([title, *map(_aligned, parts)])


def _numbers(old: Side, new: Side, pairs: Sequence[Pair], changed: int) -> Rows:
    def number(holds: Callable[[Pair], bool], of: Sequence[Pair] = pairs) -> str:
        return str(sum(map(holds, of)))

    both = [pair for pair in pairs if isinstance(pair.old, int) and isinstance(pair.new, int)]
    neither = [pair for pair in pairs if isinstance(pair.old, str) and isinstance(pair.new, str)]
    share = f"{changed / len(both):.1%} of those that both count" if both else ""
    return [
        ["requests", str(len(pairs)), ""],
        ["changed", str(changed), share],
        ["now over the context length", number(lambda pair: not old.over(pair.old) and new.over(pair.new), both), ""],
        ["no longer over it", number(lambda pair: old.over(pair.old) and not new.over(pair.new), both), ""],
        ["refused by old alone", number(lambda pair: isinstance(pair.old, str) and isinstance(pair.new, int)), ""],
        ["refused by new alone", number(lambda pair: isinstance(pair.old, int) and isinstance(pair.new, str)), ""],
        ["refused by both, alike", number(lambda pair: pair.old == pair.new, neither), ""],
        ["refused by both, otherwise", number(lambda pair: pair.old != pair.new, neither), ""],
    ]


def _differences(changed: Sequence[Change]) -> Rows:
    def row(name: str, values: list[float], form: str) -> list[str]:
        figures = [f"{value:+{form}}" for value in (min(values), median(values), max(values))]
        return [name, *figures, f"{max(map(abs, values)):{form}}"]

    return [
        ["difference of those", "smallest", "median", "largest", "largest absolute"],
        row("tokens", [change.tokens for change in changed], ",.10g"),
        row("relative", [change.relative for change in changed], ".2%"),
    ]


def _largest(changed: Sequence[Change]) -> Rows:
    shown = [
        [change.id, str(change.old), str(change.new), f"{change.tokens:+}", f"{change.relative:+.2%}"]
        for change in changed[:SHOWN]
    ]
    return [["largest changes", "old", "new", "tokens", "relative"], *shown]


def _refused_not_alike(pairs: Sequence[Pair]) -> Iterator[list[str]]:
    for pair in pairs:
        if pair.old != pair.new and str in (type(pair.old), type(pair.new)):
            yield [pair.id, str(pair.old), str(pair.new)]


def _aligned(rows: Rows) -> str:
    """Columns two blanks apart, the first to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
