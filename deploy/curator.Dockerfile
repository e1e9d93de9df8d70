# The curator's tools: learn, budgets, audits. It needs no network once it is built:
#   docker build -f deploy/curator.Dockerfile -t privroute-curator .
#   docker run --rm --network none --read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp \
#     -v "$PWD:/data" --user "$(id -u):$(id -g)" privroute-curator learn study.toml --temp-folder /data ...
# Without --temp-folder rows that do not fit into memory go to /tmp, which is memory here.
FROM python:3.11-slim-trixie AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml constraints.txt CMakeLists.txt README.md LICENSE ./
COPY core core
COPY src src
RUN python -m venv /opt/privroute && /opt/privroute/bin/pip install --no-cache-dir --constraint constraints.txt '.[all]'

FROM python:3.11-slim-trixie
RUN useradd --system --uid 10001 --no-create-home privroute
COPY --from=build /opt/privroute /opt/privroute
USER 10001
WORKDIR /data
ENV PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR=/tmp/matplotlib
ENTRYPOINT ["/opt/privroute/bin/privroute"]
