# SPDX-License-Identifier: Apache-2.0
"""The judge `stress`: scenarios and twins on real cores."""
