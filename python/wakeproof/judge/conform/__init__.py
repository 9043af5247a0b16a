# SPDX-License-Identifier: Apache-2.0
"""The judge `conform`: the compiled code does what its spec says, state by state."""
