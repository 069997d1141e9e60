"""A command that ends with whoever started it: run as a script, it ends the command once nobody holds its stdin."""

import subprocess
import sys
import threading


def _end(command: "subprocess.Popen[bytes]") -> None:
    sys.stdin.read()  # until the parent is gone, however it ended
    command.terminate()


if __name__ == "__main__":
    running = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    threading.Thread(target=_end, args=[running], daemon=True).start()
    sys.exit(running.wait())
