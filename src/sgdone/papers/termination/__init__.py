"""Baghal, Paquette & Vavasis (2021): a termination criterion for SGD for binary classification."""
