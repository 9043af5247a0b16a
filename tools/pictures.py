# SPDX-License-Identifier: Apache-2.0
"""Pictures of the audit's page for the documentation: `make pictures`, after `make audit`.

A headless Chromium opens build/audit/index.html at a place and writes what a window shows.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "build" / "audit" / "index.html"
WIDTH = 1100
PICTURES = {
    "report-overview": ("", 640),
    "report-claim": ("Guard!NoLostWakeup", 900),
    "report-viewer": ("MCGuardTso_no_fence/7", 760),
}
"""By name: the place in the page, and the height of the window."""
LOOKS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
         "--force-color-profile=srgb", "--virtual-time-budget=5000")  # fmt: skip


def main() -> None:
    """Write each picture, or say in a line what is lacking."""
    browser = shutil.which("chromium")
    if browser is None:
        raise SystemExit("pictures: install chromium (Debian: apt install chromium)")
    if not PAGE.is_file():
        raise SystemExit(f"pictures: there is no {PAGE.relative_to(ROOT)}: run make audit")
    for name, (place, height) in PICTURES.items():
        target = ROOT / "docs" / "judging" / f"{name}.png"
        with tempfile.TemporaryDirectory() as profile:
            shot = Path(profile, "shot.png")
            address = PAGE.as_uri() + (f"#{place}" if place else "")
            subprocess.run(
                [browser, *LOOKS, f"--user-data-dir={profile}/own", f"--screenshot={shot}",
                 f"--window-size={WIDTH},{height}", address],
                check=True, stderr=subprocess.DEVNULL, timeout=120,
            )  # fmt: skip
            shutil.copyfile(shot, target)
        print(f"{target.relative_to(ROOT)}: {target.stat().st_size // 1000} kB", file=sys.stderr)


if __name__ == "__main__":
    main()
