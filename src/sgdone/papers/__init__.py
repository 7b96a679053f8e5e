"""The five papers behind the methods: what they prove, their methods in plain NumPy, and their figures.

Each paper has a folder: `termination`, `averaging`, `diagnostics`, `margin_pursuit` and `logistic`. In it, ``theory``
has one function per theorem, ``reference`` the methods as the paper prints them, and every other file with an
`~sgdone.papers.experiment.Experiment` reproduces a figure or table. ``sgdone theory`` and ``sgdone reproduce`` find
them in the folders; nothing is registered.
"""
