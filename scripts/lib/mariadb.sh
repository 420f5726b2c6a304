# shellcheck shell=bash
# MariaDB as a server of its own, reachable by TCP on loopback alone.
# shellcheck disable=SC2154 # state is set by scripts/services

# mariadb_server prints the path of the installed server; its folder of programs may not be searched.
mariadb_server() {
  command -v mariadb >/dev/null && command -v mariadb-install-db >/dev/null || return 1
  command -v mariadbd || { [ -x /usr/sbin/mariadbd ] && echo /usr/sbin/mariadbd; }
}

as_mariadb() { as_user mysql "$@"; }

create_mariadb() {
  local home
  mariadb_server >/dev/null || die "MariaDB is missing; install the package mariadb-server"
  choose_port mariadb "${POSTROOM_MARIADB_PORT:-}" 23306
  home=$(home_for mariadb mysql)
  mariadb_settings "$home" >"$home/server.cnf"
  mariadb_user >"$home/user.sql"
  as_mariadb mariadb-install-db "--defaults-file=$home/server.cnf" --skip-test-db \
    --auth-root-authentication-method=normal >>"$state/mariadb/log" 2>&1 9>&- ||
    die "mariadb-install-db did not succeed; see $state/mariadb/log"
}

run_mariadb() {
  local home user=()
  home=$(cat "$state/mariadb/home.path")
  [ "$(id -u)" != 0 ] || user=(--user=mysql)
  detach mariadb "$(mariadb_server)" "--defaults-file=$home/server.cnf" "${user[@]}"
}

# mariadb_settings name the socket relative to the data folder: its full path may be too long. A commit survives the
# server's end, but not the machine's: tests make hundreds of tables.
mariadb_settings() {
  cat <<CONF
[mariadbd]
datadir = $1/data
socket = server.sock
pid_file = $1/data/server.pid
init_file = $1/user.sql
bind_address = 127.0.0.1
port = $(port_of mariadb)
skip_name_resolve = ON
max_connections = 200
character_set_server = utf8mb4
innodb_buffer_pool_size = 256M
innodb_flush_log_at_trx_commit = 2
CONF
}

# mariadb_user prints what each start runs. The root user has no password, and is refused by TCP.
mariadb_user() {
  cat <<SQL
CREATE DATABASE IF NOT EXISTS postroom;
CREATE USER IF NOT EXISTS postroom@'127.0.0.1' IDENTIFIED BY 'postroom';
GRANT ALL ON *.* TO postroom@'127.0.0.1';
DROP USER IF EXISTS root@'127.0.0.1';
SQL
}

await_mariadb() { await mariadb 60 mariadb_answers; }

mariadb_answers() {
  MYSQL_PWD=postroom mariadb --no-defaults --connect-timeout=5 -h 127.0.0.1 -P "$(port_of mariadb)" \
    -u postroom postroom -e 'SELECT 1' >/dev/null
}

clean_mariadb() { clean_home mariadb; }
