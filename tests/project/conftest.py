# SPDX-License-Identifier: Apache-2.0
"""Shared by the project's own tests: installations, made once for all of them."""

from tests.support.installed import judging, light, prefix, unpacked

__all__ = ["judging", "light", "prefix", "unpacked"]
