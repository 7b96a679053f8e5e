"""The stochastic phase of a default fit: step sizes and penalties tried side by side on scaled features."""

from sgdone.bank.bank import Bank
from sgdone.bank.bank_state import BankState
from sgdone.bank.evaluation import CANDIDATES, Candidate

__all__ = ["CANDIDATES", "Bank", "BankState", "Candidate"]
