"""The default fit: scaled features, step sizes and penalties tried side by side, compared on validation rows."""

from sgdone.auto.bank import Bank
from sgdone.auto.bank_state import BankState
from sgdone.auto.block_finish import BlockFinish
from sgdone.auto.candidates import CANDIDATES, Candidate
from sgdone.auto.finish import ExactFinish

__all__ = ["CANDIDATES", "Bank", "BankState", "BlockFinish", "Candidate", "ExactFinish"]
