# shellcheck shell=bash
# Debian packages: only those that are missing, and no server started by their installation.

# install_packages installs what the named servers, the race detector and the tests in a browser need.
install_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ "${#missing[@]}" -gt 0 ] || return 0
  command -v apt-get >/dev/null ||
    die "this machine lacks ${missing[*]} (names of Debian packages); install them, or give" \
      "the servers by POSTGRES_URL, PGBOUNCER_URL, MARIADB_URL, AMQP_URL and KAFKA_BROKERS (compose.yaml starts them)," \
      "and a browser by CHROMIUM"
  say "installing ${missing[*]}"
  if ! apt_install "${missing[@]}"; then
    die "cannot install ${missing[*]}; as root: apt-get install ${missing[*]}"
  fi
}

# missing_packages prints one package a line.
missing_packages() {
  local server compiler=${CC:-gcc}
  { command -v "${compiler%% *}" >/dev/null && [ -e /usr/include/stdlib.h ]; } || printf 'gcc\nlibc6-dev\n'
  browser_is_here || printf 'chromium\nfonts-inter\nfonts-jetbrains-mono\n'
  for server in "$@"; do
    case $server in
      postgres) postgres_bin >/dev/null || echo postgresql ;;
      pgbouncer) pgbouncer_bin >/dev/null || echo pgbouncer ;;
      mariadb) mariadb_server >/dev/null || echo mariadb-server ;;
      rabbitmq) rabbitmq_bin >/dev/null || echo rabbitmq-server ;;
      kafka | connect)
        java_is_new_enough || echo default-jre-headless
        "${server}_jars_are_here" || command -v mvn >/dev/null || echo maven
        ;;
    esac
  done | sort -u
}

# browser_is_here reports whether there is a Chromium where the tests look for it: where CHROMIUM says, or in the path.
browser_is_here() {
  local name
  for name in "${CHROMIUM:-}" headless_shell headless-shell chromium chromium-browser google-chrome; do
    [ -z "$name" ] || ! command -v "$name" >/dev/null || return 0
  done
  return 1
}

java_is_new_enough() {
  local major
  major=$(java -version 2>&1 | sed -nE 's/.* version "([0-9]+).*/\1/p' | head -n 1)
  [ "${major:-0}" -ge 17 ]
}

apt_install() {
  local log policy=0 result=0
  log=$(mktemp)
  deny_starts && policy=1
  {
    apt_get update && apt_get install -y --no-install-recommends "$@"
  } >"$log" 2>&1 9>&- || result=$?
  [ "$policy" = 0 ] || as_root rm -f /usr/sbin/policy-rc.d
  [ "$result" = 0 ] || tail -n 30 "$log" >&2
  rm -f "$log"
  return "$result"
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 "$@"
}

# deny_starts keeps packages from starting servers on the default ports while they are installed.
# A policy that the machine has already stays as it is.
deny_starts() {
  [ ! -e /usr/sbin/policy-rc.d ] || return 1
  printf '#!/bin/sh\nexit 101\n' | as_root tee /usr/sbin/policy-rc.d >/dev/null &&
    as_root chmod 755 /usr/sbin/policy-rc.d
}
