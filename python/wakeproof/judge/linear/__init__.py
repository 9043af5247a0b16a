# SPDX-License-Identifier: Apache-2.0
"""The judge `linear`: operations of the compiled code happen at points between call and return."""
