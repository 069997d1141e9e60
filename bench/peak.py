"""How much memory a process takes while it works, as Linux counts it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """A process by its id; figures in MB."""

    pid: int

    @property
    def now(self) -> float:
        """Resident at the moment."""
        return self._read("VmRSS")

    @property
    def peak(self) -> float:
        """The most that was resident since `forget`."""
        return self._read("VmHWM")

    def forget(self) -> None:
        """Begin the peak anew, with what is resident now."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def _read(self, name: str) -> float:
        lines = dict(line.split(":", 1) for line in Path(f"/proc/{self.pid}/status").read_text().splitlines())
        return int(lines[name].split()[0]) / 1000
