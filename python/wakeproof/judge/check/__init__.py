# SPDX-License-Identifier: Apache-2.0
"""The judge `check`: TLC on the configurations of specs/."""
