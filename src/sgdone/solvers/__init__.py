"""Methods, one file each."""

from sgdone.interfaces.method import Method, Report
from sgdone.solvers.averaged import Averaged, aisgd, asgd
from sgdone.solvers.catoni import Catoni
from sgdone.solvers.gd import GD
from sgdone.solvers.half import Halving, isgd_half, sgd_half
from sgdone.solvers.isgd import ISGD
from sgdone.solvers.liblinear import Liblinear
from sgdone.solvers.margin_moments import MarginMoments
from sgdone.solvers.median_of_means import MedianOfMeans
from sgdone.solvers.newton import Newton
from sgdone.solvers.olbfgs import OLBFGS
from sgdone.solvers.pegasos import Pegasos
from sgdone.solvers.row_solver import RowSolver
from sgdone.solvers.sgd import SGD
from sgdone.solvers.sgd2 import SGD2
from sgdone.solvers.sgdqn import SGDQN
from sgdone.solvers.single_model import SingleModel
from sgdone.solvers.state import State
from sgdone.solvers.svrg import SVRG
from sgdone.solvers.truncated import Truncated

__all__ = [
    "GD",
    "ISGD",
    "OLBFGS",
    "SGD",
    "SGD2",
    "SGDQN",
    "SVRG",
    "Averaged",
    "Catoni",
    "Halving",
    "Liblinear",
    "MarginMoments",
    "MedianOfMeans",
    "Method",
    "Newton",
    "Pegasos",
    "Report",
    "RowSolver",
    "SingleModel",
    "State",
    "Truncated",
    "aisgd",
    "asgd",
    "isgd_half",
    "sgd_half",
]
