# shellcheck shell=bash
# RabbitMQ as a node of its own: own name, own epmd, own folders, loopback alone.
# shellcheck disable=SC2154 # state is set by scripts/services

# rabbitmq_bin prints the folder of the scripts that run a node as the present user. The one in
# /usr/sbin changes to the user rabbitmq, who may not reach our folder.
rabbitmq_bin() {
  local folder
  for folder in /usr/lib/rabbitmq/bin "$(dirname "$(command -v rabbitmq-server)")"; do
    if [ -x "$folder/rabbitmq-server" ] && command -v epmd >/dev/null; then
      echo "$folder"
      return
    fi
  done
  return 1
}

create_rabbitmq() {
  local home=$state/rabbitmq epmd
  rabbitmq_bin >/dev/null || die "RabbitMQ is missing; install the package rabbitmq-server"
  choose_port rabbitmq "${POSTROOM_AMQP_PORT:-}" 25572
  epmd=$(free_port 24369)
  start_epmd "$epmd"
  echo "listeners.tcp.1 = 127.0.0.1:$(port_of rabbitmq)
disk_free_limit.absolute = 50MB
log.file.level = warning" >"$home/rabbitmq.conf"
  echo '[].' >"$home/enabled_plugins"
  rabbitmq_settings "$epmd" >"$home/env"
}

run_rabbitmq() {
  local home=$state/rabbitmq
  # shellcheck source=/dev/null
  (set -a && . "$home/env" && detach rabbitmq "$(rabbitmq_bin)/rabbitmq-server")
  rm -f "$home/pid"
  await_rabbitmq_pid
}

# rabbitmq_settings prints the node's environment; with it rabbitmqctl reaches the node, too.
rabbitmq_settings() {
  local home=$state/rabbitmq
  cat <<ENV
HOME=$(printf %q "$home")
RABBITMQ_CONF_ENV_FILE=/dev/null
RABBITMQ_NODENAME=postroom-$(port_of rabbitmq)@localhost
RABBITMQ_DIST_PORT=$(free_port 25673)
RABBITMQ_CONFIG_FILE=$(printf %q "$home/rabbitmq.conf")
RABBITMQ_ADVANCED_CONFIG_FILE=$(printf %q "$home/advanced.config")
RABBITMQ_ENABLED_PLUGINS_FILE=$(printf %q "$home/enabled_plugins")
RABBITMQ_MNESIA_BASE=$(printf %q "$home/mnesia")
RABBITMQ_LOG_BASE=$(printf %q "$home/logs")
RABBITMQ_PID_FILE=$(printf %q "$home/pid")
RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}"
ERL_EPMD_PORT=$1
ERL_EPMD_ADDRESS=127.0.0.1
ENV
}

# start_epmd starts the name service that the node needs, apart from a default one.
start_epmd() {
  setsid nohup epmd -port "$1" -address 127.0.0.1 </dev/null >>"$state/rabbitmq/log" 2>&1 9>&- &
  echo $! >"$state/rabbitmq/epmd.pid"
  echo "-port $1 -address" >"$state/rabbitmq/epmd.marker"
}

await_rabbitmq_pid() {
  await rabbitmq 60 test -s "$state/rabbitmq/pid"
}

await_rabbitmq() { await rabbitmq 120 rabbitmq_answers; }

# rabbitmq_answers opens an AMQP 0-9-1 connection: a ready node answers with a method frame (1).
rabbitmq_answers() {
  local answer
  answer=$(
    exec 3<>"/dev/tcp/127.0.0.1/$(port_of rabbitmq)"
    printf 'AMQP\0\0\11\1' >&3
    timeout 5 head -c 1 <&3 | od -An -tu1 | tr -d ' '
  )
  [ "$answer" = 1 ]
}

clean_rabbitmq() {
  local pid
  pid=$(cat "$state/rabbitmq/epmd.pid" 2>/dev/null) || return 0
  if names "$pid" "$(cat "$state/rabbitmq/epmd.marker")"; then
    end_process TERM "$pid" 10
  fi
}
