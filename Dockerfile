# For a user's CI: wakeproof with all that its judges need.  docs/judging/ci.md says how to use it.
#
#     docker build -t wakeproof .
#     docker run --rm -v "$PWD:/src" wakeproof explore tests/queue_race.c --strict

FROM debian:bookworm-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      gcc g++ libc6-dev liburing-dev make python3 python3-dev python3-venv \
 && rm -rf /var/lib/apt/lists/*
COPY . /wakeproof
RUN python3 -m venv /opt/wakeproof \
 && /opt/wakeproof/bin/pip install --no-cache-dir "/wakeproof[judge]"

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      binutils bubblewrap g++ gcc libc6-dev liburing2 python3 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/wakeproof /opt/wakeproof
COPY tools/action.sh /opt/wakeproof/bin/action.sh
ENV PATH="/opt/wakeproof/bin:$PATH" XDG_CACHE_HOME=/tmp/cache
WORKDIR /src
ENTRYPOINT ["wakeproof"]
CMD ["--help"]
