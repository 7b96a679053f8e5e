"""Hostile input of every kind, in processes of its own: ``python -m tests.hostile --help``.

A case is a kind and a number, which is the seed of all that is random in it. A kind is a file of `kinds`, and a format
of data files is a file of `formats`: new ones join by being there. Parameters, solvers, rules, losses and steps are
those that sgdone has.
"""
