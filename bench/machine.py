"""Where figures were taken and with which versions."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def described(*packages: str) -> str:
    """One paragraph: processor, memory, system, Python, and these packages as they are installed."""
    processor = next((line.split(": ")[1] for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    memory = int(next(line for line in _lines("/proc/meminfo") if line.startswith("MemTotal")).split()[1]) / 1024**2
    machine = f"{processor or platform.machine()}, {os.cpu_count()} processors, {memory:.0f} GB, {platform.system()}"
    versions = [f"{package} {_version(package)}" for package in packages]
    return f"{machine}; Python {platform.python_version()}, {', '.join(versions)}."


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"
