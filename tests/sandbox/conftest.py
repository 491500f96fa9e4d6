"""The suite lies in a module of its own; its asserts explain themselves all the same."""

import pytest

pytest.register_assert_rewrite("tests.sandbox.conformance")
