#!/usr/bin/env bash
# Docker Compose 2 where the `docker` command has none: Debian 12 packages no version 2, and the plugin of Debian 13's
# `docker-compose` needs nothing but the C library. It is unpacked for this user alone, and nothing is installed.
set -euo pipefail

if docker compose version >/dev/null 2>&1; then
    docker compose version
    exit 0
fi
if ! command -v docker >/dev/null; then
    echo "There is no docker command; install docker.io first." >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"

# The mirror that this machine uses already.
mirror=$(apt-get indextargets --format '$(SITE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
    awk '$1 !~ /security/ && $2 == "main" { print $1; exit }') || mirror=
[ -n "$mirror" ] || { echo "apt on this machine names no Debian mirror, so Compose cannot be fetched." >&2; exit 1; }
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$work/trixie.list"
apart=(-o Dir::Etc::sourcelist="$work/trixie.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache")
apt-get "${apart[@]}" -qq update
(cd "$work" && apt-get "${apart[@]}" -qq download docker-compose 2>"$work/said") || { cat "$work/said" >&2; exit 1; }
dpkg -x "$work"/docker-compose_*.deb "$work/unpacked"

plugins=${DOCKER_CONFIG:-$HOME/.docker}/cli-plugins
mkdir -p "$plugins"
install -m 755 "$work/unpacked/usr/libexec/docker/cli-plugins/docker-compose" "$plugins/docker-compose"
docker compose version
