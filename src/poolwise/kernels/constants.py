"""Numbers that the compiled loops and the formulas share. Nothing is compiled here."""

NONE, SUM, SQUARE, MAX, BOTH = 0, 1, 2, 3, 4  # how activations are pooled by themselves; BOTH: SUM, and behind it MAX
THRESHOLD, TRIANGLE, NEAREST = 0, 1, 2  # how responses become activations
CONSTANT = 1e-6  # contrast below this share of the mean is rounding
