"""What every package is built on, and what is independent of the method: types, parameters, files, progress, randomness."""
