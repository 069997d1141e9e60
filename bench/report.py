"""Figures as Markdown, and their place in a document."""

import re
from collections.abc import Iterable, Sequence
from textwrap import fill


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of text."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def paragraph(text: str) -> str:
    """The text in lines of at most 120 characters, however it was written."""
    return fill(" ".join(text.split()), 120, break_on_hyphens=False)


def replace_section(document: str, title: str, text: str) -> str:
    """The document with `text` under the heading `title`, at its end if it has none of that name."""
    section = f"## {title}\n\n{text.strip()}\n"
    pattern = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    found = pattern.search(document)
    if found is None:
        return f"{document.rstrip()}\n\n{section}"
    rest = document[found.end() :]
    return document[: found.start()] + section + (f"\n{rest}" if rest else "")
