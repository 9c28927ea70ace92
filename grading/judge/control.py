"""The control line to a zygote: JSON messages with descriptors attached, and what silence on it means."""

import json
import socket
from collections.abc import Callable
from typing import Any

from grading.judge.errors import InfraError
from grading.sandbox.ranks import receive_message, send_message

END_S = 5.0  # for the zygote to bury a world, or to do any other small thing


class Control:
    """Our end of the line. `last_words` reads the zygote's stderr for the message of an InfraError."""

    def __init__(self, channel: socket.socket, last_words: Callable[[], str]):
        self.socket = channel
        self._last_words = last_words
        self._request = 0

    def tell(self, fds: list[int] | None = None, **message: Any) -> None:
        try:
            send_message(self.socket, json.dumps(message).encode(), fds)
        except OSError as error:
            raise InfraError(f"the sandbox is gone ({error}). {self._last_words()}") from None

    def hear(self, timeout_s: float) -> dict[str, Any]:
        self.socket.settimeout(timeout_s)
        try:
            return json.loads(receive_message(self.socket)[0])
        except TimeoutError:
            raise InfraError(f"the sandbox did not answer within {timeout_s:.0f} s") from None
        except (EOFError, OSError):
            raise InfraError(f"the sandbox ended unasked. {self._last_words()}") from None

    def next_id(self) -> int:
        """A number for one request to one rank, never used again."""
        self._request += 1
        return self._request
