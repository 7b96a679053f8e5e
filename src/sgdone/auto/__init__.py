"""The fit that needs no knobs: features scaled on the way, step sizes and penalties tried side by side, its own end."""

from sgdone.auto.candidates import CANDIDATES, Candidate
from sgdone.auto.driver import train_bank
from sgdone.auto.learner import Learner
from sgdone.auto.request import AutoResult, Request
from sgdone.auto.task import Task

__all__ = ["CANDIDATES", "AutoResult", "Candidate", "Learner", "Request", "Task", "train_bank"]
