"""Ji & Telgarsky (2018): risk and parameter convergence of logistic regression."""
