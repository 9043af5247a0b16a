# SPDX-License-Identifier: Apache-2.0
"""What the public modules are made of: for them alone."""
