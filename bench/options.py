"""How often to measure, and with which interpreters."""

from dataclasses import dataclass
from pathlib import Path

from local.stack import ROOT

LAYERS = ROOT / ".build" / "layers"


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says.

    Args:
        rounds: times that each way does each thing; what takes seconds is done less often.
        python: the interpreter that built artifacts are started with.
        obvious: that of the environment with locks/obvious.txt.
    """

    rounds: int
    python: Path
    obvious: Path

    @property
    def few(self) -> int:
        """The times for what takes long."""
        return max(2, self.rounds // 4)


def models() -> dict[str, Path]:
    """The built layers' folders by the models' short names."""
    return {folder.name: folder / "model" for folder in sorted(LAYERS.iterdir()) if (folder / "model").exists()}
