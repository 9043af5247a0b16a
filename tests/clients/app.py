# SPDX-License-Identifier: Apache-2.0
"""A Flask application that answers late, as web.py does; for gunicorn."""

from __future__ import annotations

import threading
import time
from typing import Any

from flask import Flask, g, request

app = Flask(__name__)
here = threading.local()


@app.get("/<seconds>/<token>")
def late(seconds: str, token: str) -> dict[str, Any]:
    """Answer after some seconds, with what only this request's thread and context know."""
    began = time.time()
    here.token, g.token = token, token
    time.sleep(float(seconds))
    assert here.token == g.token == request.view_args["token"]  # type: ignore[index]
    return {"token": here.token, "began": began, "ended": time.time()}


@app.get("/stuck/<seconds>/computing")
def stuck(seconds: str) -> str:
    """Compute without a wait, which holds up the whole process."""
    until = time.monotonic() + float(seconds)
    while time.monotonic() < until:
        pass
    return "done"
