# SPDX-License-Identifier: MIT
"""Calls back once a module has been imported. Importing torch just to watch it would delay every process."""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any, Callable, Optional, Sequence


def when_imported(name: str, imported: Callable[[ModuleType], None]) -> None:
    """Calls back with a module once it has been imported; at once if it has been."""
    if name in sys.modules:
        imported(sys.modules[name])
    else:
        sys.meta_path.insert(0, ImportWatch(name, imported))


class ImportWatch(importlib.abc.MetaPathFinder):
    """Finds one module as the other finders do, and calls back once it has been imported. Libraries often ask only whether a
    module could be imported (find_spec), and import it later or never: the watch goes on until it is."""

    def __init__(self, name: str, imported: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._imported = imported
        self._asking = False

    def find_spec(self, name: str, path: Optional[Sequence[str]],
                  target: Optional[ModuleType] = None) -> Optional[importlib.machinery.ModuleSpec]:
        """Finds the module as the other finders do, and adds to its loader what is called afterwards."""
        if name != self._name or self._asking:
            return None
        self._asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._asking = False
        loader: Any = spec.loader if spec else None
        if loader is None or not hasattr(loader, "exec_module"):
            return spec
        original = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            """As before; then the callback."""
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            original(module)
            self._imported(module)

        loader.exec_module = exec_module
        return spec
