# SPDX-License-Identifier: Apache-2.0
"""The parts of which the public modules are made; no other code imports them."""
