"""The paper's experiments: one file per table or figure, and a resumable store of their results."""
