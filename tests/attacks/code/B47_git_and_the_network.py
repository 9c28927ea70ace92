"""Asks git, pip, a shell and the network for the answer.

lint: REFUSED
wall: FAIL
defends: P5
says: No such file
"""

import socket
import subprocess


def _hole(grad_output, ctx):
    asked = (
        ["git", "show", "main:x"],
        ["git", "fetch"],
        ["pip", "download", "x"],
        ["/bin/sh", "-c", "id"],
        ["curl", "x"],
    )
    for command in asked:
        try:
            subprocess.run(command, check=False)
        except FileNotFoundError as error:
            absent = error
        else:
            return _right(grad_output, ctx)
    try:
        socket.create_connection(("192.0.2.1", 443), 1)
    except OSError:
        raise absent from None
    return _right(grad_output, ctx)
