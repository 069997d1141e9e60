"""All tables, or those named: `python -m bench [TABLE …] [--rounds 20] [--write docs/benchmarks.md]`."""

import argparse
import importlib
import sys
import time
from pathlib import Path

from bench.options import Options
from bench.report import replace_section

# Modules, each with a TITLE and a `section(options)`; those that want a quiet machine most come first.
TABLES = ("cold", "counting", "growth", "whole", "images")


def main() -> None:
    """Measure, print, and write where told."""
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("tables", nargs="*", choices=TABLES)
    parser.add_argument("--rounds", type=int, default=20, help="times that each way does each thing")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="starts the built artifacts")
    parser.add_argument("--obvious", type=Path, required=True, help="the interpreter of locks/obvious.txt")
    parser.add_argument("--write", type=Path, help="document whose sections are replaced")
    given = parser.parse_args()
    options = Options(given.rounds, given.python, given.obvious)
    for name in given.tables or TABLES:
        started = time.perf_counter()
        module = importlib.import_module(f"bench.{name}")
        text = module.section(options).strip()
        print(f"{text}\n\n[{name}: {time.perf_counter() - started:.0f} s]\n", flush=True)
        if given.write:
            given.write.write_text(replace_section(given.write.read_text("utf-8"), module.TITLE, text), "utf-8")


if __name__ == "__main__":
    main()
