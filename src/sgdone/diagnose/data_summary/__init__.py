"""The parts of `sgdone.diagnose.shape`, one module per property of the data."""
