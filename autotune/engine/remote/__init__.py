"""Trials on other hosts: an agent on each, and what the tuner needs to work with them."""
