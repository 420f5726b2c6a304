# shellcheck shell=bash
# PgBouncer before PostgreSQL, on loopback alone. The database postroom is pooled by transaction, postroom_session by
# session and postroom_statement by statement.
# shellcheck disable=SC2154 # state is set by scripts/services

pgbouncer_bin() { command -v pgbouncer || { [ -x /usr/sbin/pgbouncer ] && echo /usr/sbin/pgbouncer; }; }

create_pgbouncer() {
  local home
  pgbouncer_bin >/dev/null || die "PgBouncer is missing; install the package pgbouncer"
  choose_port pgbouncer "${POSTROOM_PGBOUNCER_PORT:-}" 26432
  home=$(home_for pgbouncer postgres)
  pgbouncer_settings "$home" >"$home/pgbouncer.ini"
  pgbouncer_user >"$home/users"
}

run_pgbouncer() {
  local home user=()
  home=$(cat "$state/pgbouncer/home.path")
  [ "$(id -u)" != 0 ] || user=(-u postgres)
  detach pgbouncer "$(pgbouncer_bin)" "${user[@]}" "$home/pgbouncer.ini"
}

pgbouncer_settings() {
  local server
  server=$(pgbouncer_server)
  cat <<CONF
[databases]
postroom = $server pool_mode=transaction
postroom_session = $server pool_mode=session
postroom_statement = $server pool_mode=statement

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $(port_of pgbouncer)
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $1/users
max_client_conn = 500
default_pool_size = 20
ignore_startup_parameters = extra_float_digits
CONF
}

# pgbouncer_url prints the address of the PostgreSQL server behind it.
pgbouncer_url() {
  local end=$((SECONDS + 60))
  until [ -n "${POSTGRES_URL:-}" ] || [ -s "$state/postgres/port" ]; do
    [ "$SECONDS" -lt "$end" ] || die "pgbouncer needs postgres; start both with: scripts/services up postgres pgbouncer"
    sleep 0.2
  done
  echo "${POSTGRES_URL:-$(address postgres)}"
}

pgbouncer_server() {
  pgbouncer_url | sed -E 's#^[a-z]+://[^@]*@([^:/]+)(:([0-9]+))?/([^?]*).*#host=\1 port=\3 dbname=\4#; s#port= #port=5432 #'
}

pgbouncer_user() { pgbouncer_url | sed -E 's#^[a-z]+://([^:]+):([^@]*)@.*#"\1" "\2"#'; }

await_pgbouncer() { await pgbouncer 90 pgbouncer_answers; }

pgbouncer_answers() { psql -X -q -A -t "$(address pgbouncer)" -c 'SELECT 1' >/dev/null; }

clean_pgbouncer() { clean_home pgbouncer; }
