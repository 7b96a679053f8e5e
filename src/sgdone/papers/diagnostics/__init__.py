"""Chee & Toulis (2018): convergence diagnostics for stochastic gradient descent with constant learning rate."""
