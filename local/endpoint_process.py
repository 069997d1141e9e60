"""A container's entry point in a process that ends with its parent: run as a script, with the name of a module."""

import os
import runpy
import sys
import threading


def _end_with_parent() -> None:
    sys.stdin.read()  # until the parent is gone, however it ended
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
