# SPDX-License-Identifier: Apache-2.0
"""What `wakeproof.install` replaces in the standard library: one file for each area.

Each file has ``replacements()``, which yields a `Replacement` for each name.  A new file in this
folder is found by itself.
"""
