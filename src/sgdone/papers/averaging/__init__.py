"""Xu (2011): towards optimal one pass large scale learning with averaged stochastic gradient descent."""
