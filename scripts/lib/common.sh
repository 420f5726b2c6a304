# shellcheck shell=bash
# Words shared by the servers: messages, ports, process ids and waiting.
# shellcheck disable=SC2154 # state is set by scripts/services

say() { echo "services: $*" >&2; }

die() {
  say "$*"
  exit 1
}

known_servers() {
  local server
  for server in "$@"; do
    case $server in
      postgres | pgbouncer | mariadb | rabbitmq | kafka | connect) ;;
      *) die "no server is called \"$server\"; use postgres, pgbouncer, mariadb, rabbitmq, kafka or connect" ;;
    esac
  done
}

# without_password hides the secret of a URL, so that logs can be shown.
without_password() { sed -E 's#(://[^:/@]*):[^@]*@#\1:***@#' <<<"$1"; }

# lock_state lets one "up" or "down" work on a state folder at a time.
lock_state() {
  mkdir -p "$state"
  exec 9>"$state/lock"
  flock -w 600 9 || die "another scripts/services has worked on $state for 10 minutes"
}

# as_root runs a command with root's rights, by sudo where needed.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    return 127
  fi
}

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free_port prints the first port from $1 on that nothing listens on. The ports asked for lie below those that the
# system lends to clients (from 32768), or else a client that tries a stopped server again may take its port.
free_port() {
  local port
  for ((port = $1; port < $1 + 100; port++)); do
    listens "$port" || {
      echo "$port"
      return
    }
  done
  die "no free port from $1 to $((port - 1))"
}

# choose_port fixes a server's port for the time it runs: the one asked for, or the first free one.
choose_port() {
  local server=$1 asked=$2 from=$3
  if [ -n "$asked" ] && listens "$asked"; then
    die "port $asked, asked for $server, is in use by another program"
  fi
  if [ -z "$asked" ]; then
    asked=$(free_port "$from")
  fi
  echo "$asked" >"$state/$server/port"
}

port_of() { cat "$state/$1/port"; }

# pid_of prints the process id of a server that we started and that still lives. The command line
# must name our folder, so that a number used again by another process is never taken for ours.
pid_of() {
  local pid
  pid=$(head -n 1 "$state/$1/pid" 2>/dev/null) || return 1
  [ -n "$pid" ] && names "$pid" "$(marker_of "$1")" && echo "$pid"
}

# names reports whether the command line of a process has a text. There is no pipe into grep -q here: it ends at the
# first match, and a writer that has more to say then fails the pipe.
names() {
  local line
  line=$(tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline") && [[ $line == *"$2"* ]]
}

# marker_of prints the text that identifies our server among all command lines.
marker_of() { cat "$state/$1/marker" 2>/dev/null || echo "$state/$1"; }

is_running() { pid_of "$1" >/dev/null; }

# has_ended reports whether the process that we started is gone. Its command line says nothing here: it names our folder
# only once the process has become the server.
has_ended() {
  local pid
  pid=$(head -n 1 "$state/$1/pid" 2>/dev/null) || return 1
  [ -n "$pid" ] && [ ! -d "/proc/$pid" ]
}

# detach starts a server in a session of its own, without our terminal and lock.
detach() {
  local server=$1
  shift
  setsid nohup "$@" </dev/null >>"$state/$server/log" 2>&1 9>&- &
  echo $! >"$state/$server/pid"
}

# await polls a check until it holds or a number of seconds is over.
await() {
  local server=$1 seconds=$2 end=$((SECONDS + $2))
  shift 2
  until "$@" 2>/dev/null; do
    if has_ended "$server"; then
      tail -n 20 "$state/$server/log" >&2 || true
      die "$server ended while it started; see $state/$server/log"
    fi
    if [ "$SECONDS" -ge "$end" ]; then
      tail -n 20 "$state/$server/log" >&2 || true
      die "$server does not answer after $seconds s; see $state/$server/log"
    fi
    sleep 0.2
  done
}

# end_process asks a process to end and insists after a number of seconds.
end_process() {
  local signal=$1 pid=$2 seconds=$3 end=$((SECONDS + $3))
  kill "-$signal" "$pid" 2>/dev/null || return 0
  while kill -0 "$pid" 2>/dev/null; do
    if [ "$SECONDS" -ge "$end" ]; then
      say "process $pid still runs after $seconds s and is killed"
      kill -KILL "$pid" 2>/dev/null || true
      return
    fi
    sleep 0.1
  done
}

# stop_server ends a server that we started, if it runs.
stop_server() {
  local pid
  pid=$(pid_of "$1") || return
  end_process "$(signal_of "$1")" "$pid" 20
  say "$1 is down"
}

# end_server ends a server that we started and removes its folder.
end_server() {
  stop_server "$1" || true
  "clean_$1"
  rm -rf "${state:?}/$1"
}

# as_user runs a command as a user that the server accepts: some refuse root, or read files as another.
as_user() {
  local user=$1
  shift
  if [ "$(id -u)" = 0 ]; then
    (cd / && runuser -u "$user" -- "$@")
  else
    "$@"
  fi
}

# home_for prints a new folder that the server's user can reach: ours, or one in /var/tmp when a
# parent (such as /root) is closed to that user.
home_for() {
  local server=$1 user=$2 folder=$state/$1/home
  mkdir -p "$folder"
  if [ "$(id -u)" = 0 ]; then
    id "$user" >/dev/null 2>&1 || die "there is no user $user; install the package of $server"
    chown "$user" "$folder"
    if ! as_user "$user" test -w "$folder" 2>/dev/null; then
      folder=$(mktemp -d "/var/tmp/postroom-$server.XXXXXX")
      chown "$user" "$folder"
    fi
  fi
  echo "$folder" | tee "$state/$server/home.path" "$state/$server/marker"
}

# clean_home removes the folder that home_for made.
clean_home() {
  local home
  home=$(cat "$state/$1/home.path" 2>/dev/null) || return 0
  case $home in
    "$state/$1"/* | "/var/tmp/postroom-$1".*) rm -rf "$home" ;;
  esac
}

# signal_of prints the signal that ends a server without waiting for its clients.
signal_of() { [ "$1" = postgres ] && echo INT || echo TERM; }
