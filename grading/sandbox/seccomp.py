"""The system calls that nothing in the jail needs and that widen it: answered with EPERM by a seccomp filter.

Under the root order the filter is not optional: without it an ordinary uid could still make a user namespace and be
root in there.
"""

from __future__ import annotations

import errno
import functools
import os

NAMESPACES = ("unshare", "setns", "pivot_root", "chroot")
MOUNTS = (
    *("mount", "umount2", "mount_setattr", "open_tree", "move_mount"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "open_by_handle_at"),
)
OTHER_PROCESSES = ("ptrace", "pidfd_getfd", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp")
PRIORITIES = (  # of any process of the same uid, the zygote among them
    *("setpriority", "sched_setscheduler", "sched_setparam", "sched_setattr", "ioprio_set"),
    *("migrate_pages", "move_pages"),
)
OF_ITSELF = ("prlimit64", "sched_setaffinity")  # first argument 0: the caller, which is how libraries use them
KERNEL = (
    *("bpf", "perf_event_open", "userfaultfd", "fanotify_init", "io_uring_setup", "io_uring_enter"),
    *("io_uring_register", "keyctl", "add_key", "request_key", "kexec_load", "kexec_file_load", "init_module"),
    *("finit_module", "delete_module", "reboot", "swapon", "swapoff", "acct", "syslog", "quotactl", "iopl", "ioperm"),
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "lookup_dcookie"),
)
SYSV_IPC = ("shmget", "msgget", "semget")  # memory that no rlimit counts; torch and gloo use POSIX objects
DENIED = NAMESPACES + MOUNTS + OTHER_PROCESSES + PRIORITIES + KERNEL + SYSV_IPC

NEW_NAMESPACE_FLAGS = (0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x02000000, 0x04000000, 0x08000000, 0x00000080)
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16  # netlink: getifaddrs, which gloo calls
SOCKET_FAMILIES = (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK)


class NoSeccomp(RuntimeError):
    """libseccomp (or its Python binding) is not to be had; the message says what to install."""


@functools.cache
def filter_program() -> bytes:
    """The filter as a BPF program, for `bwrap --seccomp FD`. Raises NoSeccomp."""
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError) as error:
        raise NoSeccomp(f"the seccomp filter cannot be built ({error}): apt-get install libseccomp2") from error
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    _deny_calls(rules, pyseccomp)
    _deny_flags(rules, pyseccomp)
    _deny_families(rules, pyseccomp)
    _deny_others(rules, pyseccomp)
    return _export(rules)


def _deny_calls(rules, seccomp) -> None:
    for name in DENIED:
        if _known(seccomp, name):
            rules.add_rule(seccomp.ERRNO(errno.EPERM), name)
    # clone3 takes its flags by pointer, where a filter cannot look: glibc falls back to clone when it is missing.
    rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")


def _known(seccomp, name: str) -> bool:
    """A call that this architecture or an older libseccomp has no number for."""
    return seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) >= 0


def _deny_flags(rules, seccomp) -> None:
    for flag in NEW_NAMESPACE_FLAGS:
        has_flag = seccomp.Arg(0, seccomp.MASKED_EQ, flag, flag)
        rules.add_rule(seccomp.ERRNO(errno.EPERM), "clone", has_flag)


def _deny_families(rules, seccomp) -> None:
    """A network namespace does not hold AF_VSOCK (it reaches a virtual machine's host), and the rest is not needed."""
    denied = seccomp.ERRNO(errno.EPERM)
    for family in set(range(AF_NETLINK)) - set(SOCKET_FAMILIES):
        rules.add_rule(denied, "socket", seccomp.Arg(0, seccomp.EQ, family))
    rules.add_rule(denied, "socket", seccomp.Arg(0, seccomp.GT, AF_NETLINK))


def _deny_others(rules, seccomp) -> None:
    """A rank has the zygote's uid, and so the kernel would let it set the zygote's limits and processors."""
    for name in OF_ITSELF:
        rules.add_rule(seccomp.ERRNO(errno.EPERM), name, seccomp.Arg(0, seccomp.NE, 0))


def _export(rules) -> bytes:
    descriptor = os.memfd_create("filter")
    with os.fdopen(descriptor, "w+b") as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()
