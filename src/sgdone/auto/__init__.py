"""The default fit: scaled features, step sizes and penalties tried side by side, compared on validation rows."""

from sgdone.auto.bank import Bank
from sgdone.auto.bank_state import BankState
from sgdone.auto.candidates import CANDIDATES, Candidate
from sgdone.auto.exact_phase import ExactFromDisk, ExactInMemory, default_phases

__all__ = ["CANDIDATES", "Bank", "BankState", "Candidate", "ExactFromDisk", "ExactInMemory", "default_phases"]
