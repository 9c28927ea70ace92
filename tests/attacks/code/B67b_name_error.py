"""Uses a name that there is not, at import.

lint: FAIL
wall: FAIL
defends: P9
says: NameError: name 'no_such_name'
"""

_table = [no_such_name]
