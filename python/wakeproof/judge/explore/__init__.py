# SPDX-License-Identifier: Apache-2.0
"""The judge `explore`: every interleaving and reordering of compiled code and small programs."""
