"""The executable specification: every method in a few lines of plain dense NumPy, straight from its paper.

Nothing here is fast, and nothing of the package calls it: the tests compare it with the compiled loops. Rows come
in the order given, one of them an update; ``weights`` are sample weights (a row of weight 0 is skipped whole).
"""
