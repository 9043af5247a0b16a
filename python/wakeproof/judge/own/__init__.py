# SPDX-License-Identifier: Apache-2.0
"""Programs as their authors wrote them, in C11, C++ and Rust, under the explorer.

`program.py` says what a program is; `runtime.py` compiles ``stress/own``, `rust.py` asks Rust's
compiler, `build.py` links a program with the runtime, and refuses what it cannot see; `run.py`
explores it, and `symbols.py` gives names to the addresses in what it finds.  `scenarios.py` makes
programs of scenarios, `driver.py` is the compiler of ``wakeproof cc``, `repeat.py` runs programs on
real cores, and `pytest_plugin.py` is loaded by pytest.
"""
