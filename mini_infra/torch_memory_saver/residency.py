"""What the kernel says of a range of addresses: which of its pages have memory, and who may touch them."""

import ctypes
import mmap
import os

LIBC = ctypes.CDLL(None, use_errno=True)


def call(function: str, address: int, *arguments) -> None:
    """libc's `function(address, …)`. Raises OSError with the kernel's word where it answers with an error."""
    if LIBC[function](ctypes.c_void_p(address), *arguments):
        error = ctypes.get_errno()
        raise OSError(error, f"{function}: {os.strerror(error)}")


def resident_bytes(address: int, nbytes: int) -> int:
    """Bytes of the pages that hold memory, by mincore. `address` starts a page; the last page counts whole."""
    pages = -(-nbytes // mmap.PAGESIZE)
    flags = (ctypes.c_ubyte * pages)()
    call("mincore", address, ctypes.c_size_t(nbytes), flags)
    return sum(flag & 1 for flag in flags) * mmap.PAGESIZE


def mappings() -> list[tuple[int, int, str]]:
    """Start, end and mode (`rw-p`, `---p`, …) of each mapping of this process, in the order of addresses."""
    found = []
    with open("/proc/self/maps", encoding="ascii") as maps:
        for line in maps:
            ends, mode = line.split()[:2]
            start, end = ends.split("-")
            found.append((int(start, 16), int(end, 16), mode))
    return found


def permissions(address: int, nbytes: int, mapped: list[tuple[int, int, str]]) -> str:
    """The mode of the range in `mappings()`; `mixed` if it differs, `` where a part of it is not mapped."""
    modes, reached = set(), address
    for start, end, mode in mapped:
        if start <= reached < min(end, address + nbytes):
            modes.add(mode)
            reached = end
    whole = reached >= address + nbytes
    return (modes.pop() if len(modes) == 1 else "mixed") if whole else ""
