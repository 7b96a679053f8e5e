"""Standard errors and intervals of linear models, and when they are refused."""

from sgdone.inference.refusals import Refusal
from sgdone.inference.summary import Summary
from sgdone.inference.wald import WaldTest

__all__ = ["Refusal", "Summary", "WaldTest"]
