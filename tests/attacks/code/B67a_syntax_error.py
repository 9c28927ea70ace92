"""Does not compile.

lint: FAIL
wall: FAIL
defends: P9
says: SyntaxError: .return. outside function
"""

return None
