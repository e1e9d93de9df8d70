# The service: one release, mounted read-only at /release. Build from the root of the repository:
#   docker build -f deploy/serve.Dockerfile -t privroute-serve .
FROM python:3.11-slim-trixie AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml constraints.txt CMakeLists.txt README.md LICENSE ./
COPY core core
COPY src src
RUN python -m venv /opt/privroute && /opt/privroute/bin/pip install --no-cache-dir --constraint constraints.txt '.[serve,sign]'

FROM python:3.11-slim-trixie
RUN useradd --system --uid 10001 --no-create-home privroute
COPY --from=build /opt/privroute /opt/privroute
USER 10001
EXPOSE 8000
# the service writes nothing: run it with --read-only
ENV PYTHONDONTWRITEBYTECODE=1
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD \
  ["/opt/privroute/bin/python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/v1/health', timeout=4)"]
ENTRYPOINT ["/opt/privroute/bin/privroute", "serve", "/release", "--host", "0.0.0.0", "--port", "8000"]
