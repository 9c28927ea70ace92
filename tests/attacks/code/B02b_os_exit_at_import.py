"""The file leaves by os._exit(0) while it is imported.

lint: REFUSED
wall: FAIL
defends: P9
says: ended with exit status 0 before it answered
"""

import os

os._exit(0)
