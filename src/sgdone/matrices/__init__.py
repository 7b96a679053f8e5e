"""Matrices of rows: dense, CSR and mixed ones, their validation, and hashes of their rows."""
