# SPDX-License-Identifier: Apache-2.0
"""The private parts of the public modules; code outside of wakeproof must not import them."""
