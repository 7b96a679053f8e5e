"""One file a data set, found without registration: each lists its recipes in ``RECIPES``."""
