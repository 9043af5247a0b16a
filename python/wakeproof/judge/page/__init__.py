# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML page: what holds and how it is known, and a viewer of counterexamples."""
