"""Compiled code: row access, how weights are stored, and the loop over a block of rows (`sgdone.kernels.loop`).

Nothing here imports the rest of the package. Everything is composed of closures of small functions (`inlined`), because
that is the only composition that Numba's disk cache recognises in a second process.
"""
