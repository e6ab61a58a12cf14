#!/usr/bin/env bash
# A coordinator and two workers of Citus on this machine, to test the trace collector with.
#   lab.sh build SOURCE   compiles and installs the Citus in this source tree (as root)
#   lab.sh up             starts the three nodes, makes them at the first time, and prints the URL
#   lab.sh down           stops them
#   lab.sh remove         stops them and deletes their data
# PG_BIN: the folder of PostgreSQL's programs. CITUS_LAB: where the nodes keep their data.
set -euo pipefail
PG_BIN=${PG_BIN:-/usr/lib/postgresql/15/bin}
LAB=${CITUS_LAB:-/var/tmp/citus-lab}
declare -A PORTS=([coordinator]=15900 [worker1]=15901 [worker2]=15902)

# PostgreSQL does not run as root.
as_postgres() { if [ "$(id -u)" = 0 ]; then su postgres -c "$1"; else bash -c "$1"; fi; }

build() {
  cd "${1:?the source tree of Citus}"
  local header=src/include/pg_version_compat.h server
  server=$("$PG_BIN/pg_config" --includedir-server)
  # Later minor versions of the server export a function of which Citus brings a copy.
  if grep -q 'extern bool have_createdb_privilege' "$server/commands/dbcommands.h"; then
    perl -0pi -e 's/static inline bool\nhave_createdb_privilege\(void\)\n\{.*?\n\}\n/extern bool have_createdb_privilege(void);\n/s' "$header"
  fi
  ./configure --without-libcurl PG_CONFIG="$PG_BIN/pg_config" >/dev/null
  # Without what PostgreSQL compiles at run time, the build takes half as long.
  make -j"$(nproc)" with_llvm=no >/dev/null
  make install with_llvm=no >/dev/null
}

make_node() { # name
  as_postgres "$PG_BIN/initdb -A trust -U postgres -D $LAB/$1 >/dev/null"
  cat >>"$LAB/$1/postgresql.conf" <<CONF
shared_preload_libraries = 'citus'
port = ${PORTS[$1]}
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 300
max_prepared_transactions = 300
# Each database has one of Citus, and shards that move have some.
max_worker_processes = 64
wal_level = logical
shared_buffers = '${LAB_SHARED_BUFFERS:-128MB}'
citus.recover_2pc_interval = '5s'
# Tests kill processes, never the machine: what the kernel has is safe.
fsync = ${LAB_FSYNC:-off}
CONF
}

on() { # name statement
  as_postgres "$PG_BIN/psql -h 127.0.0.1 -p ${PORTS[$1]} -U postgres -qAtc \"$2\""
}

up() {
  local node is_new=
  mkdir -p "$LAB"
  chmod 755 "$LAB"
  if [ "$(id -u)" = 0 ]; then chown postgres "$LAB"; fi
  for node in coordinator worker1 worker2; do
    if [ ! -e "$LAB/$node/PG_VERSION" ]; then make_node $node; is_new=1; fi
    as_postgres "$PG_BIN/pg_ctl status -D $LAB/$node >/dev/null ||
      $PG_BIN/pg_ctl start -w -D $LAB/$node -l $LAB/$node.log >/dev/null"
    on $node 'set client_min_messages = warning; create extension if not exists citus'
  done
  if [ -n "$is_new" ]; then
    on coordinator "select citus_set_coordinator_host('127.0.0.1', ${PORTS[coordinator]})" >/dev/null
    for node in worker1 worker2; do
      on coordinator "select citus_add_node('127.0.0.1', ${PORTS[$node]})" >/dev/null
    done
  fi
  echo "postgres://postgres@127.0.0.1:${PORTS[coordinator]}/postgres"
}

down() {
  for node in coordinator worker1 worker2; do
    as_postgres "$PG_BIN/pg_ctl stop -m fast -D $LAB/$node >/dev/null" || true
  done
}

case "${1:-}" in
  build) build "${2:-}" ;;
  up) up ;;
  down) down ;;
  remove) down; rm -rf "$LAB" ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
