"""moto's server in a process of its own that ends with its parent: run as a script with an address
of this machine, it prints its URL and serves.
"""

import sys

from moto.server import ThreadedMotoServer

if __name__ == "__main__":
    server = ThreadedMotoServer(sys.argv[1], 0, verbose=False)
    server.start()
    print("http://{}:{}".format(*server.get_host_and_port()), flush=True)
    sys.stdin.read()  # until the parent is gone, however it ended
