"""One module per data set, found by searching this package. Each lists its recipes in ``RECIPES``."""
