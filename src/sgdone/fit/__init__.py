"""From rows and options to a fitted model, without scikit-learn: shared by estimators, command and clusters."""
