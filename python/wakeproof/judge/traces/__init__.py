# SPDX-License-Identifier: Apache-2.0
"""The judge of `conform --traces`: what real threads did is a behaviour of the spec."""
