"""What changed between two layers, as a picture: by matplotlib, which nothing else here needs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replay.drift import Pair
from replay.events import ReplayError


def figure_class() -> Any:
    """matplotlib's Figure. Raises ReplayError where it is not installed: nothing else here needs it."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        message = "--plot needs matplotlib, which is not installed here: .venv/bin/python -m pip install matplotlib"
        raise ReplayError(message) from error
    return Figure


def plot(path: Path, title: str, pairs: Sequence[Pair], figure_of: Any) -> None:
    """Each count of the old layer, and by how much the new one's differs, as a PNG. Raises ReplayError."""
    counted = [(pair.old, pair.new) for pair in pairs if isinstance(pair.old, int) and isinstance(pair.new, int)]
    figure = figure_of(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    axes.scatter([old for old, _ in counted], [new - old for old, new in counted], s=12, alpha=0.5)
    axes.axhline(0, linewidth=0.5)
    axes.set(title=title, xscale="log", xlabel="tokens by the old layer", ylabel="more by the new layer")
    try:
        figure.savefig(path, format="png", dpi=120)
    except OSError as error:
        raise ReplayError(f"{path} cannot be written: {error.strerror}") from error
