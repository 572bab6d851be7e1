"""Assertions of the contract are explained."""

import pytest

pytest.register_assert_rewrite("autotune.testing.contract")
