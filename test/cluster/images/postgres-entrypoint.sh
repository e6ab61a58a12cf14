#!/bin/bash
# Starts PostgreSQL as the official image does, as far as the chart relies on it: POSTGRES_USER, POSTGRES_PASSWORD and
# POSTGRES_DB make the server on the first start and mean nothing on later ones.
set -euo pipefail

# initdb looks up the name of its user; an id that a cluster has assigned has none.
name_user() {
  getent passwd "$(id -u)" >/dev/null && return
  export NSS_WRAPPER_PASSWD NSS_WRAPPER_GROUP LD_PRELOAD
  NSS_WRAPPER_PASSWD="$(mktemp)"
  NSS_WRAPPER_GROUP="$(mktemp)"
  echo "postgres:x:$(id -u):$(id -g)::$PGDATA:/bin/false" >"$NSS_WRAPPER_PASSWD"
  echo "postgres:x:$(id -g):" >"$NSS_WRAPPER_GROUP"
  LD_PRELOAD="$(echo /usr/lib/*/libnss_wrapper.so)"
}

make_server() {
  : "${POSTGRES_PASSWORD:?is required to make the data directory}"
  name_user
  initdb --username="$POSTGRES_USER" --pwfile=<(echo "$POSTGRES_PASSWORD") --encoding=UTF8 --locale=C.UTF-8 \
    --auth-local=trust --auth-host=scram-sha-256 --pgdata="$PGDATA"
  unset LD_PRELOAD NSS_WRAPPER_PASSWD NSS_WRAPPER_GROUP
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  cat >>"$PGDATA/postgresql.conf" <<'SETTINGS'
listen_addresses = '*'
unix_socket_directories = '/var/run/postgresql'
SETTINGS
  if [ "$POSTGRES_DB" != postgres ]; then
    pg_ctl --pgdata="$PGDATA" --options="-c listen_addresses=''" --wait start
    psql --no-psqlrc --set=ON_ERROR_STOP=1 --set=name="$POSTGRES_DB" --username="$POSTGRES_USER" --dbname=postgres \
      <<<'create database :"name"'
    pg_ctl --pgdata="$PGDATA" --mode=fast --wait stop
  fi
}

: "${POSTGRES_USER:=postgres}"
: "${POSTGRES_DB:=$POSTGRES_USER}"
if [ "$1" = postgres ]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  [ -s "$PGDATA/PG_VERSION" ] || make_server
fi
exec "$@"
