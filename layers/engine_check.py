"""Whether the fast engine gives a tokenizer's ids exactly: found out once, when a layer is built."""

import json
from pathlib import Path

from layers.engine_strings import strings


def installed_engine() -> str | None:
    """The fast engine's package and version in this Python; None where there is none."""
    try:
        from tokencount.adapters.engines import FastEngine  # noqa: PLC0415 - the builder runs without it as well
    except ImportError:
        return None
    return FastEngine.identity()


def admitted_engine(tokenizer: Path) -> str | None:
    """The fast engine's package and version, where it gives the ids of this `tokenizer.json`; None, and why, else."""
    identity = installed_engine()
    reason = _difference(tokenizer) if identity else "it is not installed"
    if reason:
        print(f"  the fast engine will not count for this model: {reason}", flush=True)
        return None
    print(f"  {identity} gives the ids of the tokenizers library", flush=True)
    return identity


def _difference(tokenizer: Path) -> str | None:
    from tokencount.adapters.engines import ExactEngine, FastEngine  # noqa: PLC0415 - as above

    try:
        exact, fast = ExactEngine(tokenizer), FastEngine(tokenizer)
        for text in strings(json.loads(tokenizer.read_bytes())):
            if list(exact.ids(text)) != list(fast.ids(text)):
                return f"it has other tokens for {text[:60]!a}"
    except Exception as error:  # whatever it makes of a file in a form that it does not know
        return f"{type(error).__name__}: {error}"
    return None
