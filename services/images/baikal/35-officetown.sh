#!/bin/sh
# Set Baïkal up before it starts, so that nobody has to click through its wizard: its settings and its empty database, in
# the shape that the version in the image asks for. What is there already is left as it is: settings changed by hand stay,
# and what another version would have to upgrade is Baïkal's own to upgrade. People's accounts are added by the office when
# it runs (services/carriers/caldav/baikal.py), in the folder that both have.
set -eu
umask 007

root=${BAIKAL_ROOT:-/var/www/baikal}
owner=${BAIKAL_OWNER:-nginx:nginx}
config=$root/config/baikal.yaml
data=$root/Specific/db
database=$data/db.sqlite

version=$(sed -n "s/.*BAIKAL_VERSION[\"'] *, *[\"']\([0-9.]*\)[\"'].*/\1/p" "$root/Core/Distrib.php" | head -n 1)
[ -n "$version" ] || { echo "35-officetown.sh: no version in $root/Core/Distrib.php" >&2; exit 1; }
hash=$(printf '%s' "admin:BaikalDAV:$BAIKAL_ADMIN_PASSWORD" | sha256sum | cut -d ' ' -f 1)

mkdir -p "$root/config" "$data"
if [ ! -e "$config" ]; then
    cat >"$config.new" <<EOF
system:
    configured_version: $version
    timezone: UTC
    card_enabled: false
    cal_enabled: true
    dav_auth_type: Basic
    admin_passwordhash: $hash
    failed_access_message: 'user %u authentication failure for Baikal'
    auth_realm: BaikalDAV
    base_uri: ''
    invite_from: ''
database:
    encryption_key: $BAIKAL_ENCRYPTION_KEY
    backend: sqlite
    sqlite_file: $database
EOF
    mv "$config.new" "$config"
fi

if [ ! -e "$database" ]; then
    # Whole or not at all: a start that was cut short leaves no half-made database behind.
    rm -f "$database.new"
    sqlite3 "$database.new" <"$root/Core/Resources/Db/SQLite/db.sql"
    mv "$database.new" "$database"
fi
cp "$root/Core/Resources/Db/SQLite/db.sql" "$root/Specific/db.sql"

# The orchestrator, which is of this group, adds people's accounts; so what is made here later belongs to the group too.
chown -R "$owner" "$root/config" "$root/Specific"
chmod 750 "$root/config"
chmod 2770 "$root/Specific" "$data"
chmod 640 "$config" "$root/Specific/db.sql"
chmod 660 "$database"
