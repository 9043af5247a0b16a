# SPDX-License-Identifier: Apache-2.0
"""The bindings of the kernel: what is compiled for Python, how, and the names that Python calls."""
