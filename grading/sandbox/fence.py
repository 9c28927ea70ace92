"""The lint's lists: what a patch may import, and the names it may not use, each with what to write instead."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IMPORTS = _words(
    "torch math cmath typing typing_extensions dataclasses collections functools itertools operator array heapq bisect "
    "enum abc contextlib copy __future__ numbers statistics fractions decimal string re warnings struct hashlib "
    "textwrap graphlib"
)

ANSWER = "this reaches outside the patch; a rank answers only by what the probe returns"
FILES = "the rank has no files to read or write here; use what the function is given"
PROCESS = "a patch starts and ends no process; return from the function, or raise a fitting exception"
MIRROR = "a patch does not look at the interpreter; use the values that the function is given"
CHECK = "checking is the test's work; compute the value and return it"

TORCH = {
    "torch._C": "use torch's public functions",
    "torch.classes": ANSWER,
    "torch.distributed.elastic": PROCESS,
    "torch.distributed.launch": PROCESS,
    "torch.distributed.rpc": "use the collectives of torch.distributed",
    "torch.distributed.run": PROCESS,
    "torch.hub": FILES,
    "torch.jit.load": FILES,
    "torch.jit.save": FILES,
    "torch.library": "call the operations, do not register others",
    "torch.load": FILES,
    "torch.multiprocessing": PROCESS,
    "torch.ops.load_library": FILES,
    "torch.overrides": "call torch's functions as they are; what they do is counted",
    "torch.package": FILES,
    "torch.save": FILES,
    "torch.serialization": FILES,
    "torch.testing": CHECK,
    "torch.utils._python_dispatch": "call torch's functions as they are; what they do is counted",
    "torch.utils.cpp_extension": PROCESS,
    "torch.utils.model_zoo": FILES,
    "torch.autograd.graph.saved_tensors_hooks": "save in the autograd function; what is saved is counted",
    "torch.from_file": FILES,
    "torch.Tensor.tofile": FILES,
}
DANGEROUS = {
    **dict.fromkeys(("os._exit", "os.abort", "os.kill", "os.killpg", "os.fork", "os.forkpty", "os.system"), PROCESS),
    **dict.fromkeys(("os.popen", "os.execv", "os.execve", "os.execvp", "os.posix_spawn", "os.spawnv"), PROCESS),
    **dict.fromkeys(("os.environ", "os.putenv", "os.getenv"), "settings come as arguments, not by the environment"),
    **dict.fromkeys(("sys.exit", "signal", "atexit", "subprocess", "multiprocessing"), PROCESS),
    **dict.fromkeys(("sys.modules", "sys.path", "sys.meta_path", "importlib"), "write an import statement"),
    **dict.fromkeys(("sys._getframe", "sys._current_frames", "sys.settrace", "sys.setprofile"), MIRROR),
    **dict.fromkeys(("gc", "inspect", "ctypes", "linecache", "traceback", "builtins", "types.CodeType"), MIRROR),
    **dict.fromkeys(("typing.get_type_hints", "typing.ForwardRef"), "write the type itself"),
}
BUILTINS = {
    "eval": "write the expression itself",
    "exec": "write the statements themselves",
    "compile": "write the code itself",
    "__import__": "write an import statement",
    "open": FILES,
    "input": "nobody is there to answer; use the function's arguments",
    "breakpoint": "take it out before pushing; debug with `labs test`",
    "help": "take it out before pushing",
    "exit": PROCESS,
    "quit": PROCESS,
    "globals": "name the variable",
    "locals": "name the variable",
    "vars": "name the attribute",
    "setattr": "write the assignment: thing.name = value",
    "delattr": "write the statement: del thing.name",
}
BY_NAME = frozenset({"builtins.getattr", "operator.attrgetter", "operator.methodcaller"})
# Modules that others have imported and so carry as attributes: torch.os, dataclasses.sys, contextlib.os.
CARRIED = _words(
    "sys os gc inspect ctypes builtins subprocess importlib pickle shutil pathlib io socket linecache "
    "multiprocessing runpy atexit tempfile glob _sys _os _io posix threading"
)
FRAMES = _words(
    "f_back f_locals f_globals f_code f_builtins f_trace gi_frame gi_code cr_frame cr_code ag_frame ag_code tb_frame "
    "tb_next tb_lasti co_code co_consts co_names co_varnames"
)
OPERATORS = _words(
    "add sub mul truediv floordiv mod pow matmul neg pos abs invert and or xor lshift rshift radd rsub rmul rtruediv "
    "rfloordiv rmod rpow rmatmul rand ror rxor iadd isub imul itruediv imatmul iand ior eq ne lt le gt ge "
    "len getitem setitem delitem contains iter next reversed call enter exit aenter aexit await aiter anext "
    "init post_init new hash repr str bool int float index format"
)
FREE_METHODS = frozenset(f"__{name}__" for name in OPERATORS)
FREE_READS = FREE_METHODS | {"__name__", "__class__", "__qualname__", "__doc__", "__version__", "__debug__", "__all__"}
FREE_STORES = frozenset({"__slots__", "__all__", "__doc__", "__hash__"})
