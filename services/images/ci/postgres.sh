#!/bin/sh
# Make the cluster at the first start, and serve it. It owes nobody its data, so it need not sync to disk.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    password=$(mktemp)
    printf '%s' "$POSTGRES_PASSWORD" >"$password"
    # shellcheck disable=SC2086  # several arguments
    initdb -U "$POSTGRES_USER" --pwfile="$password" --auth-local=trust $POSTGRES_INITDB_ARGS >/dev/null
    rm "$password"
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    if [ "$POSTGRES_DB" != postgres ]; then
        echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -D "$PGDATA" postgres >/dev/null
    fi
fi
exec postgres -c listen_addresses='*' -c fsync=off -c unix_socket_directories=/tmp
