# SPDX-License-Identifier: Apache-2.0
"""The kernel, bound: what is compiled for Python, how, and the names that Python calls."""
