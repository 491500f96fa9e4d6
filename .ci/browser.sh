#!/usr/bin/env bash
# Installs Debian's chromium and fonts for it where there is none. The tests in tests/browser drive it.
set -euo pipefail

if [ -x /usr/bin/chromium ]; then
    /usr/bin/chromium --version 2>/dev/null
    exit 0
fi
if [ "$(id -u)" != 0 ]; then
    echo "Only root can install chromium. Install it, or run this as root." >&2
    exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "Installing chromium"
export DEBIAN_FRONTEND=noninteractive
{ apt-get update && apt-get install -y --no-install-recommends chromium chromium-sandbox fonts-liberation fonts-dejavu-core; } \
    </dev/null >"$log" 2>&1 || { cat "$log"; exit 1; }
/usr/bin/chromium --version 2>/dev/null
