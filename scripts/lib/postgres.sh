# shellcheck shell=bash
# PostgreSQL with logical decoding, reachable by TCP on loopback alone.
# shellcheck disable=SC2154 # state is set by scripts/services

# postgres_bin prints the folder of the newest installed server.
postgres_bin() {
  local folder
  command -v psql >/dev/null || return 1
  while read -r folder; do
    if [ -x "$folder/initdb" ] && [ -x "$folder/pg_ctl" ] && [ -x "$folder/postgres" ]; then
      echo "$folder"
      return
    fi
  done < <(postgres_folders)
  return 1
}

as_postgres() { as_user postgres "$@"; }

postgres_folders() {
  printf "%s\n" /usr/lib/postgresql/*/bin | sort -rV
  dirname "$(command -v postgres || echo /nowhere/postgres)"
}

create_postgres() {
  local bin home
  bin=$(postgres_bin) || die "PostgreSQL is missing; install the package postgresql"
  choose_port postgres "${POSTROOM_POSTGRES_PORT:-}" 25432
  home=$(home_for postgres postgres)
  postgres_create "$bin" "$home/data" >>"$state/postgres/log" 2>&1 ||
    die "initdb did not succeed; see $state/postgres/log"
  touch "$home/log" && { [ "$(id -u)" != 0 ] || chown postgres "$home/log"; }
}

run_postgres() {
  local bin home
  bin=$(postgres_bin)
  home=$(cat "$state/postgres/home.path")
  as_postgres "$bin/pg_ctl" -D "$home/data" -l "$home/log" -W start >>"$state/postgres/log" 2>&1 9>&- ||
    die "pg_ctl did not succeed; see $state/postgres/log"
  await postgres 30 postgres_pid "$home/data"
}

postgres_create() {
  local bin=$1 data=$2
  echo postroom | as_postgres tee "$data.password" >/dev/null || return
  as_postgres "$bin/initdb" -D "$data" -U postroom -A scram-sha-256 -E UTF8 --locale=C.UTF-8 \
    "--pwfile=$data.password" || return
  postgres_settings | as_postgres tee -a "$data/postgresql.conf" >/dev/null
}

# A replication slot that a test has left keeps no more WAL than this.
postgres_settings() {
  cat <<CONF
listen_addresses = '127.0.0.1'
port = $(port_of postgres)
unix_socket_directories = ''
wal_level = logical
max_slot_wal_keep_size = 1GB
max_connections = 200
fsync = on
logging_collector = off
CONF
}

# postgres_pid copies the process id that the server wrote.
postgres_pid() { head -n 1 "$1/postmaster.pid" >"$state/postgres/pid" && [ -s "$state/postgres/pid" ]; }

await_postgres() {
  await postgres 60 postgres_answers
  postgres_has_database || die "cannot create the database; see $(cat "$state/postgres/home.path")/log"
}

postgres_sql() {
  PGPASSWORD=postroom psql -X -q -A -t -h 127.0.0.1 -p "$(port_of postgres)" -U postroom -d postgres -c "$1"
}

postgres_answers() { postgres_sql 'SELECT 1' >/dev/null; }

postgres_has_database() {
  [ "$(postgres_sql "SELECT 1 FROM pg_database WHERE datname = 'postroom'")" = 1 ] ||
    postgres_sql 'CREATE DATABASE postroom' 2>>"$state/postgres/log"
}

clean_postgres() { clean_home postgres; }
