# SPDX-License-Identifier: Apache-2.0
"""The judge of `conform --paths`: the code follows paths over every edge of its spec."""
