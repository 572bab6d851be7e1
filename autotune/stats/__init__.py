"""From timed windows to figures with intervals, and to decisions with known error rates.

Rates are compared as logarithms, because noise multiplies: run *i* of a configuration measures
log(rate) + between_i + within_i. The noise between fresh processes is several times the noise
within one; `autotune.search.posterior` learns it from repeats.
"""
