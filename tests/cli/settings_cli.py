"""Options of a fit that takes a fraction of a second."""

QUICK = ("--codes", "8", "--patches", "3000", "--max-iter", "5", "--jobs", "1", "--quiet")
