# SPDX-License-Identifier: Apache-2.0
"""The judges: each decides, in its own way, whether the claims of specs/ hold."""

from wakeproof.judge.native import StressReport, stress
from wakeproof.judge.options import StressOptions
from wakeproof.judge.specs import CheckReport, ConfigResult, check

__all__ = ["CheckReport", "ConfigResult", "StressOptions", "StressReport", "check", "stress"]
