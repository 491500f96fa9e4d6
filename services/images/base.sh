#!/bin/sh
# Make a base for the images where no registry can be reached: Debian's own packages, imported under the name that the
# Dockerfiles ask for. Needs root, debootstrap, and a container engine with its `docker` command.
#
#     services/images/base.sh [NAME] [PACKAGE...]
#
# The packages come from this machine's own Debian mirror, if apt here has one for this release, else from where debootstrap itself looks. The
# certificates which this machine's administrator trusts are trusted in it too, so that pip and apt reach inside a build
# what they reach outside. So such a base is this machine's own: it is made where it is used, and never published.
set -eu

release=bookworm
name=${1:-python:3.11-slim-$release}
[ $# -eq 0 ] || shift

say() { echo "base.sh: $*" >&2; }
[ "$(id -u)" = 0 ] || { say "debootstrap has to be run as root."; exit 1; }
for program in debootstrap docker; do
    command -v $program >/dev/null || { say "$program is not installed: apt-get install debootstrap docker.io"; exit 1; }
done

mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
    awk -v release=$release '$2 == release && $3 == "main" { print $1; exit }') || mirror=
packages=ca-certificates,python3,python3-pip,python3-venv
for package in "$@"; do packages=$packages,$package; done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
root=$folder/root

debootstrap --variant=minbase --include="$packages" $release "$root" ${mirror:+"$mirror"} >"$folder/log" 2>&1 || {
    tail -n 40 "$folder/log" >&2
    say "debootstrap failed."
    exit 1
}
if ls /usr/local/share/ca-certificates/*.crt >/dev/null 2>&1; then
    cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
    chroot "$root" update-ca-certificates >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
fi
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/var/log/*

bundle=/etc/ssl/certs/ca-certificates.crt
tar --directory "$root" --numeric-owner --create . |
    docker import --change "ENV PIP_CERT=$bundle SSL_CERT_FILE=$bundle" --change 'CMD ["python3"]' - "$name" >/dev/null
echo "$name"
