"""Requirements between the parts of a fit."""

from dataclasses import dataclass, fields
from typing import final


@final
@dataclass(frozen=True, kw_only=True)
class Needs:
    """Requirements of a method or a stopping rule, or offers of a method; ``|`` combines those of several parts.

    A rule that needs a judgement goes with methods that offer one, and so on. `sgdone.run.needs` checks all of this in
    one place, before the first row is used.

    Examples
    --------
    >>> needs = Needs(iterate=True) | Needs(classes=True)
    >>> needs.iterate, needs.classes, needs.judgement
    (True, True, False)
    """

    # Requirements of methods and rules on the labels, the rows and the objective.
    #: Two classes.
    classes: bool = False
    #: All rows, at any time: a stream is not enough.
    all_rows: bool = False
    #: A convex loss: the steps are implicit, which makes them stable at any size.
    convex_loss: bool = False
    #: A convex loss with second derivatives.
    smooth_loss: bool = False
    #: A loss that stays the same during a run: slopes of it are stored.
    fixed_loss: bool = False
    #: Why a positive penalty is needed; empty if it is not.
    penalty: str = ""

    # Requirements of rules, which methods offer.
    #: A single running iterate, which rules can watch row by row.
    iterate: bool = False
    #: A `Judgement`: the model is evaluated on validation rows.
    judgement: bool = False
    #: A judgement that says how far the objective is from its minimum.
    decrement: bool = False

    # Offers of methods to the rows, the objective and the user.
    #: Rows whose columns are part dense, part sparse.
    mixed_rows: bool = False
    #: Columns of very different scales.
    any_scales: bool = False
    #: Several scores, the sum of whose losses is minimised at once; other methods train one model per class.
    several_outputs: bool = False
    #: An L1 penalty.
    l1_penalty: bool = False
    #: A penalty that is not given, but chosen.
    choice_of_alpha: bool = False
    #: A step size.
    step_size: bool = False

    def __or__(self, other: "Needs") -> "Needs":
        return Needs(**{each.name: getattr(self, each.name) or getattr(other, each.name) for each in fields(self)})
