"""What a file that leaves the machine says of its making: never a path, a command line or a user's name.

Provenance of a model file (`poolwise fit`) holds the command and the folder of images. Only what is known to be neither
is shared.
"""

import re
from collections.abc import Mapping
from typing import Any

_NUMBERS = ("images", "skipped", "seed", "page")
_FLAGS = ("crop", "grey", "mirrored")
_WORDS = ("resize", "channels", "stack")  # sizes such as 96x96, numbers of bands, "max"


def shareable(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Of a model file's provenance what says nothing about the machine.

    >>> shareable({"images": 3200, "source": "/home/ann/photos", "command": "poolwise fit /home/ann/photos", "resize": "32x32"})
    {'images': 3200, 'resize': '32x32'}
    """
    found = {}
    for name, value in provenance.items():
        is_number = name in _NUMBERS and isinstance(value, int | float) and not isinstance(value, bool)
        is_flag = name in _FLAGS and value is True
        is_word = name in _WORDS and isinstance(value, str) and re.fullmatch("[0-9]+(x[0-9]+|(,[0-9]+)*)|max|channels", value)
        if is_number or is_flag or is_word:
            found[name] = value
    return found
