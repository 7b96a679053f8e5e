"""Whether a fit that is called converged is one: generated problems, and the loss of the exact optimum beside it."""
