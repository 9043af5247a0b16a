# SPDX-License-Identifier: Apache-2.0
"""Programs as their authors wrote them, C11 with POSIX or C11 threads, under the explorer.

`program.py` says what a program is, `build.py` compiles it with the runtime of ``stress/own``,
`run.py` explores it.
"""
