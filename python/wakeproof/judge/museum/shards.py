# SPDX-License-Identifier: Apache-2.0
"""The museum in a cluster: a shard is an exhibit, as shipped and as fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wakeproof.judge import campaign
from wakeproof.judge.campaign import Shard
from wakeproof.judge.explore.options import ExploreOptions
from wakeproof.judge.museum import exhibits
from wakeproof.judge.museum import run as museum
from wakeproof.judge.museum.exhibits import Exhibit
from wakeproof.judge.museum.run import Judged, Progress


def run(
    chosen: Sequence[Exhibit],
    options: ExploreOptions,
    address: str,
    progress: Progress | None = None,
) -> list[Judged]:
    """Explore each exhibit as `museum.run.run` does, in the cluster at `address`."""
    shards = [Shard(one.name, f"{__name__}:judge", (one.name, options)) for one in chosen]
    found = campaign.run(shards, address, progress)
    return [replace(judged, exhibit=one) for one, judged in zip(chosen, found, strict=True)]


def judge(name: str, options: ExploreOptions) -> Judged:
    """Explore one exhibit."""
    (found,) = museum.run(exhibits.read(names=[name]), options)
    return found
