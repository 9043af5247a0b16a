# SPDX-License-Identifier: Apache-2.0
"""The judges: each decides, in its own way, whether the claims of specs/ hold.

A judge is a folder: ``run`` judges, ``report`` says what came out, ``command`` is its command.
"""
