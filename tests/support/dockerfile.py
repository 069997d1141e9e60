"""Reads a Dockerfile well enough to lay out, without building it, what it would put into an image."""

import re
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Stage:
    """One `FROM` and what follows, as keywords and the text behind them."""

    base: str
    name: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, keyword: str) -> list[str]:
        """The texts of every instruction of that kind."""
        return [text for found, text in self.instructions if found == keyword]

    def copies(self) -> list[tuple[str | None, str, str]]:
        """From which stage (or the context), what, and where to."""
        found = []
        for text in self.all("COPY"):
            *flags, source, target = shlex.split(text)
            stages = [flag.removeprefix("--from=") for flag in flags if flag.startswith("--from=")]
            found.append((stages[0] if stages else None, source, target))
        return found

    def environment(self) -> dict[str, str]:
        """What `ENV` sets."""
        return dict(pair.split("=", 1) for text in self.all("ENV") for pair in shlex.split(text))

    def copy_context(self, context: Path, root: Path) -> None:
        """Lay out under `root` what the stage copies from the build context."""
        folder = Path((self.all("WORKDIR") or ["/"])[0])
        for stage, source, target in self.copies():
            if stage is None:
                place = inside(root, folder / target)
                place.parent.mkdir(parents=True, exist_ok=True)
                if (context / source).is_dir():
                    shutil.copytree(context / source, place, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(context / source, place)


def read(path: Path) -> list[Stage]:
    """The stages of a Dockerfile."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    stages: list[Stage] = []
    for line in re.sub(r"\\\n", " ", text).splitlines():
        keyword, _, rest = line.strip().partition(" ")
        if keyword == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(base, name))
        elif keyword:
            stages[-1].instructions.append((keyword, rest.strip()))
    return stages


def inside(root: Path, path: str | Path) -> Path:
    """Where a path of the image is in a tree at `root`."""
    return root / Path(path).relative_to("/")
