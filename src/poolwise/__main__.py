"""`python -m poolwise` is the command `poolwise`."""

import sys

from poolwise.cli import main

sys.exit(main())
