"""Numbers that the compiled loops and the formulas share. Nothing is compiled here."""

SUM, SQUARE, MAX, OUTER, BOTH = 0, 1, 2, 3, 4  # how activations are pooled; BOTH: SUM, and behind it MAX
THRESHOLD, TRIANGLE, NEAREST = 0, 1, 2  # how responses become activations
CONSTANT = 1e-6  # contrast below this share of the mean is rounding
