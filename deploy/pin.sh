#!/bin/sh
# Names the images that were pulled by their digests, so that every later start takes the same bytes:
# deploy/pin.sh > docker-compose.override.yml
set -eu
digest() {
    docker image inspect --format '{{index .RepoDigests 0}}' "$1"
}
echo "services:"
for service in db valkey caddy backup; do
    image=$(sed -n "/^  $service:/,/^    image:/s/^    image: \([^ ]*\).*/\1/p" docker-compose.yml)
    docker pull --quiet "$image" >&2
    echo "  $service: { image: \"$(digest "$image")\" }"
done
python=$(sed -n 's/^ARG PYTHON=//p' Dockerfile)
docker pull --quiet "$python" >&2
for service in migrate web worker beat tools; do
    echo "  $service: { build: { args: { PYTHON: \"$(digest "$python")\" } } }"
done
