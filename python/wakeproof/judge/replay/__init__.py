# SPDX-License-Identifier: Apache-2.0
"""The command `replay`: a counterexample of `explore`, found again."""
