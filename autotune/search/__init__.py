"""The search: an Optuna study that is asked and told, and the posterior that answers."""
