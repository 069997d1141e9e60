"""What the operating system knows of a process."""

import re
import subprocess
from pathlib import Path


def peak_megabytes(pid: int) -> int:
    """The most memory that the process had resident so far; where that is not told (macOS), what it has now."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        [kilobytes] = re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())
    else:
        kilobytes = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], check=True, capture_output=True).stdout
    return int(kilobytes) // 1024
