# SPDX-License-Identifier: Apache-2.0
"""The judge `orders`: every memory order one step weaker is seen, or explained."""
