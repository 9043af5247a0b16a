# SPDX-License-Identifier: Apache-2.0
"""Twins: named defects as edits of the sources, built for judges, listed and shown."""
