"""Figures and tables of the papers, one file each, run by ``sgdone reproduce NAME --out DIR``.

Each run writes three files into the folder ``DIR/NAME``: the picture ``NAME.png``, what was measured ``NAME.csv``,
and ``claims.json``, sentences of the paper turned into statements that can be checked, with the paper's value,
the measured one and whether it holds. An experiment is found by its class in a file of this folder; adding one
touches nothing else.
"""
