"""Numbers that the compiled loops and the formulas share. Nothing is compiled here."""

SUM, SQUARE, MAX, OUTER = 0, 1, 2, 3  # how activations are pooled
THRESHOLD, TRIANGLE, NEAREST = 0, 1, 2  # how responses become activations
CONSTANT = 1e-6  # contrast below this share of the mean is rounding
