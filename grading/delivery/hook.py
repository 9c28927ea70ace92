"""git's proc-receive hook of a hub: hand the push to the hub's server where one is up, else grade it here.

It starts in a few hundredths of a second: of the engine it imports only what it needs, and only when it needs it.
The server is asked first, answers, and is told to go on: until then nothing is read, so a push that it does not take
is graded here, and never by both.
"""

import os
import socket
import struct
import sys

ANSWER_S = 5.0


def main() -> None:
    """`python -I -m grading.delivery.hook HUB [cold]`: the protocol on stdin and stdout, the learner on stderr."""
    os.chdir(sys.argv[1])
    spares = "cold" not in sys.argv[2:]
    if not (spares and _served()):
        _grade_here(spares)


def address() -> str:
    """The server's socket, in the hub's folder, which is the working directory: a path may be too long for one."""
    return f"spares-{os.getuid()}.sock"


def peer_uid(channel: socket.socket) -> int:
    """Who is at the other end, by the kernel's word."""
    size = struct.calcsize("3i")
    return struct.unpack("3i", channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[1]


def _served() -> bool:
    """Did the server grade the push? Ends this process when it took the push and did not come to an end."""
    with socket.socket(socket.AF_UNIX) as channel:
        try:
            channel.settimeout(ANSWER_S)
            channel.connect(address())
            if peer_uid(channel) != os.getuid():
                return False
            socket.send_fds(channel, [b"push"], [0, 1, 2])
            if channel.recv(1) != b"+":
                return False
            channel.settimeout(None)
            channel.sendall(b"!")
        except (OSError, AttributeError):  # no SO_PEERCRED: not Linux
            return False
        if _last(channel) != b".":
            print("the hub's server ended while it graded, nothing was counted: push again", file=sys.stderr)
            sys.exit(1)
        return True


def _last(channel: socket.socket) -> bytes:
    try:
        return channel.recv(1)
    except OSError:
        return b""


def _grade_here(spares: bool) -> None:
    from pathlib import Path

    from grading.delivery import hub, serve

    kinds: list[str] = []
    hub.receive(Path.cwd(), sys.stdin.buffer, sys.stdout.buffer, sys.stderr, take=kinds.append)
    sys.stdout.close()
    if kinds and spares:
        serve.start(Path.cwd(), kinds)


if __name__ == "__main__":
    main()
