# shellcheck shell=bash
# Apache Kafka as one KRaft node (broker and controller), from its Maven artifact.
# shellcheck disable=SC2154 # state and cache are set by scripts/services

kafka_version=4.1.1

kafka_jars() { echo "$cache/kafka-$kafka_version"; }

kafka_jars_are_here() { [ -e "$(kafka_jars)/kafka_2.13-$kafka_version.jar" ]; }

install_kafka() {
  java_is_new_enough || die "Java 17 is missing; install the package default-jre-headless"
  kafka_jars_are_here || fetch_jars "$(kafka_jars)" "org.apache.kafka:kafka_2.13:$kafka_version"
}

create_kafka() {
  local home=$state/kafka
  install_kafka
  choose_port kafka "${POSTROOM_KAFKA_PORT:-}" 29092
  kafka_settings >"$home/server.properties"
  kafka_java kafka.tools.StorageTool format -t "$(kafka_cluster_id)" -c "$home/server.properties" \
    >>"$home/log" 2>&1 9>&- || die "the format of Kafka's folder did not succeed; see $home/log"
  mkdir -p "$home/tmp"
}

run_kafka() {
  local home=$state/kafka
  detach kafka java -Xms256m -Xmx768m -XX:-UsePerfData "-Djava.io.tmpdir=$home/tmp" \
    "-Dkafka.logs.dir=$home" -cp "$(kafka_jars)/*" kafka.Kafka "$home/server.properties"
}

kafka_java() { java -Xmx256m -cp "$(kafka_jars)/*" "$@"; }

# kafka_cluster_id prints 22 characters of URL-safe base64; the tool reads a leading "-" as a flag.
kafka_cluster_id() { echo "p$(head -c 16 /dev/urandom | base64 | tr '+/' '__' | head -c 20)A"; }

kafka_settings() {
  local port controller
  port=$(port_of kafka)
  controller=$(free_port 28093)
  cat <<CONF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$port
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$state/kafka/data
auto.create.topics.enable=false
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
CONF
}

await_kafka() { await kafka 90 kafka_answers; }

# kafka_answers sends a Metadata request (key 3, version 1, no topics). The count of brokers in the
# answer, its bytes 8 to 11, is 0 until the broker is fully in service.
kafka_answers() {
  local answer
  answer=$(
    exec 3<>"/dev/tcp/127.0.0.1/$(port_of kafka)"
    printf '\0\0\0\16\0\3\0\1\0\0\0\1\377\377\0\0\0\0' >&3
    timeout 5 head -c 12 <&3 | od -An -tu1 -j 8 | tr -d ' \n'
  )
  [ "$answer" = 0001 ]
}

clean_kafka() { :; }
