# SPDX-License-Identifier: Apache-2.0
"""Oracles that share no code with the explorer: executions from the axioms, and by z3."""
