# SPDX-License-Identifier: Apache-2.0
"""The command `prove`: safety for any number of threads, by inductive invariants of the specs."""
