"""What a recipe uses to load one file of upstream without all that upstream would load with it.

A recipe is a program, `mainline/recipe_NAME.py` of a lab. It runs once in a zygote, before any fork, with the global
`snapshot` (the folder of the release, which is on sys.path). A stub holds names only: whoever uses one raises.
"""

import sys
from types import ModuleType
from typing import Any


class _Name(type):
    """A class that stands for one name: it can be imported, inherited from, used in an annotation, never called."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{cls.__module__}.{cls.__name__} is a stub: the recipe loads its name only")

    def __or__(cls, other: Any) -> Any:
        return cls  # in annotations: DictConfig | None

    __ror__ = __or__


class _Permissive(ModuleType):
    """Has every name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _stand_in(self.__name__, name)


def hollow(snapshot: str, *packages: str) -> None:
    """Packages whose modules are upstream's, but whose own `__init__` does not run. Parents first."""
    for package in packages:
        module = _enter(ModuleType(package))
        module.__path__ = [f"{snapshot}/{package.replace('.', '/')}"]


def stub(module: str, names: str = "", **values: Any) -> None:
    """A module of these names (with blanks between them); `values` are what upstream uses while it is imported."""
    made = _enter(ModuleType(module))
    made.__dict__.update({name: _stand_in(module, name) for name in names.split()} | values)


def permissive(module: str, **values: Any) -> None:
    """A module that has whatever name it is asked for."""
    _enter(_Permissive(module)).__dict__.update({"__path__": []} | values)


def absent(*modules: str) -> None:
    """Modules that are not installed, as far as an import can tell: for what upstream can do without."""
    sys.modules.update(dict.fromkeys(modules))


def leave(*modules: str) -> None:
    """Take stubs out again, for what looks a module up to learn whether it is installed; let the absent be found."""
    for module in modules:
        sys.modules.pop(module, None)


def same(*given: Any, **options: Any) -> Any:
    """A decorator that decorates nothing, with or without arguments."""
    return given[0] if len(given) == 1 and callable(given[0]) and not options else lambda function: function


def _stand_in(module: str, name: str) -> type:
    return _Name(name, (), {"__module__": module})


def _enter(module: ModuleType) -> ModuleType:
    sys.modules[module.__name__] = module
    parent, _, name = module.__name__.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], name, module)
    return module
