# shellcheck shell=bash
# Kafka Connect as one worker without a cluster, with Debezium's PostgreSQL connector, from their Maven artifacts.
# shellcheck disable=SC2154 # state and cache are set by scripts/services, kafka_version by lib/kafka.sh

debezium_version=3.6.1.Final

connect_jars() { echo "$cache/connect-$kafka_version-debezium-$debezium_version"; }

connect_jars_are_here() { [ -e "$(connect_jars)/debezium-connector-postgres-$debezium_version.jar" ]; }

install_connect() {
  java_is_new_enough || die "Java 17 is missing; install the package default-jre-headless"
  connect_jars_are_here || fetch_jars "$(connect_jars)" "org.apache.kafka:connect-runtime:$kafka_version" \
    "org.apache.kafka:connect-json:$kafka_version" "io.debezium:debezium-connector-postgres:$debezium_version" \
    org.slf4j:slf4j-simple:1.7.36
}

create_connect() {
  local home=$state/connect
  install_connect
  choose_port connect "${POSTROOM_CONNECT_PORT:-}" 28083
  connect_settings >"$home/worker.properties"
  mkdir -p "$home/tmp"
}

run_connect() {
  local home=$state/connect
  connect_brokers >/dev/null
  detach connect java -Xms64m -Xmx256m -XX:-UsePerfData "-Djava.io.tmpdir=$home/tmp" \
    -cp "$(connect_jars)/*" org.apache.kafka.connect.cli.ConnectStandalone "$home/worker.properties"
}

# Converters are the business of each connector.
connect_settings() {
  cat <<CONF
bootstrap.servers=$(connect_brokers)
listeners=http://127.0.0.1:$(port_of connect)
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
offset.storage.file.filename=$state/connect/offsets
offset.flush.interval.ms=500
CONF
}

# connect_brokers prints the address of the Kafka cluster, when it answers: a worker ends when it finds none.
connect_brokers() {
  local end=$((SECONDS + 60))
  until [ -n "${KAFKA_BROKERS:-}" ] || { [ -s "$state/kafka/port" ] && kafka_answers 2>/dev/null; }; do
    [ "$SECONDS" -lt "$end" ] || die "connect needs kafka; start both with: scripts/services up kafka connect"
    sleep 0.2
  done
  echo "${KAFKA_BROKERS:-$(address kafka)}"
}

await_connect() { await connect 120 connect_answers; }

connect_answers() {
  local answer
  answer=$(
    exec 3<>"/dev/tcp/127.0.0.1/$(port_of connect)"
    printf 'GET /connectors HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
    timeout 5 head -n 1 <&3
  )
  [[ "$answer" == *" 200 "* ]]
}

clean_connect() { :; }
