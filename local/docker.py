"""What this machine's Docker engine says of itself; needs the standard library alone, so that make can ask first."""

import json
import socket
import subprocess
import sys
from dataclasses import dataclass
from ipaddress import ip_network

from local.errors import StackError
from local.port import HOST


@dataclass(frozen=True, slots=True)
class Host:
    """This machine for containers: the address servers listen on here, and the name for it in a container."""

    address: str
    name: str

    def free_port(self) -> int:
        """A port that nothing listens on."""
        with socket.create_server((self.address, 0)) as server:
            port: int = server.getsockname()[1]
            return port


def host() -> Host:
    """An address that containers reach, and the network does not.

    Raises:
        StackError: no engine answers.
    """
    [bridge, *_] = json.loads(_docker("network", "inspect", "bridge", "--format", "{{json .IPAM.Config}}"))
    # Older engines say no more than the subnet.
    gateway = bridge.get("Gateway") or str(ip_network(bridge["Subnet"])[1])
    try:
        socket.create_server((gateway, 0)).close()
    except OSError:  # the engine is in a virtual machine, as Docker Desktop's, which passes on what goes to this name
        return Host(HOST, "host.docker.internal")
    return Host(gateway, gateway)


def has_image(pattern: str) -> bool:
    """Whether there is an image of that name, in which `*` stands for what has no slash."""
    return bool(_docker("image", "ls", "--quiet", "--filter", f"reference={pattern}"))


def _docker(*arguments: str) -> str:
    try:
        done = subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise StackError("no Docker engine answers, which SAM local needs: see `docker info`") from error
    return done.stdout.strip()


if __name__ == "__main__":
    try:
        host()
    except StackError as failure:
        sys.exit(str(failure))
