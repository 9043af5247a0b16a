# SPDX-License-Identifier: Apache-2.0
"""`python -m wakeproof` is the command `wakeproof`."""

from wakeproof.cli import main

main()
