"""Numbers about a fitted model: correlations, clusters, spectra, excitation, accuracy, cost. What draws them is elsewhere."""
