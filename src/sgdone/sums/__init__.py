"""Sums over rows, whatever blocks, threads or machines the rows are in."""

from sgdone.sums.second_order import SecondOrder, curvature_products, second_order

__all__ = ["SecondOrder", "curvature_products", "second_order"]
