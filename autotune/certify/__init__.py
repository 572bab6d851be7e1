"""Whether a distributed configuration does what one device would do, only faster."""

from autotune.certify.certify import certify
from autotune.certify.plan import Candidate, family

__all__ = ["Candidate", "certify", "family"]
