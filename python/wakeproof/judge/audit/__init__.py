# SPDX-License-Identifier: Apache-2.0
"""The audit: every claim against every judge."""
