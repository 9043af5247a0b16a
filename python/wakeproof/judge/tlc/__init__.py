# SPDX-License-Identifier: Apache-2.0
"""TLC as the judges use it: tables, virtual machines, verdicts, counterexamples, graphs."""
