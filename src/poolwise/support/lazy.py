"""NumPy, imported when it is first used.

The parts of the method (`Threshold`, `Patches`, ...) describe their parameters, from which `poolwise fit --help` is made, and
state their formulas, which need NumPy. Help must not wait for it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Lazy:
        def __getattr__(self, name: str) -> Any:
            import numpy

            return getattr(numpy, name)

    np = _Lazy()

__all__ = ["np"]
