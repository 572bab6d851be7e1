"""What limits a configuration: where the time of its step goes, from experiments, not guesses."""
