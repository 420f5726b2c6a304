package e2e

import "testing"

// combination is a database and a broker that a message goes through.
type combination struct {
	shop     func() (string, error) // the program
	database func(t *testing.T) *database
	broker   func(t *testing.T) broker
	node     func(t *testing.T) *node // a broker that the test may stop
}

// TestPath is the matrix: its subtests are the combinations, and theirs the claims.
func TestPath(t *testing.T) {
	t.Parallel()
	shop := shopBuilder(t.Context(), t.TempDir())

	combine(t, "PostgreSQL_to_RabbitMQ", func(t *testing.T) {
		c := combination{shop: shop, database: newPostgreSQL, broker: sharedRabbitMQ, node: newRabbitMQNode}
		everywhere(t, c)
		realBroker(t, c)
		claim(t, c, "keeps_a_message_that_nothing_is_bound_for_and_tries_it_again", keepsUnroutable)
	})
	combine(t, "PostgreSQL_to_Kafka", func(t *testing.T) {
		c := combination{shop: shop, database: newPostgreSQL, broker: sharedKafka, node: newKafkaNode}
		everywhere(t, c)
		realBroker(t, c)
		claim(t, c, "keeps_a_message_whose_topic_is_missing_and_tries_it_again", keepsTopicless)
	})
	combine(t, "SQLite_to_in-process_Kafka", func(t *testing.T) {
		c := combination{shop: shop, database: newSQLite, broker: inProcessKafka}
		everywhere(t, c)
		claim(t, c, "keeps_a_message_whose_topic_is_missing_and_tries_it_again", keepsTopicless)
		claim(t, c, "ships_an_order_on_embedded_defaults", shipsOnDefaults)
	})
}

func combine(t *testing.T, name string, claims func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		claims(t)
	})
}

// everywhere are the claims of all combinations.
func everywhere(t *testing.T, c combination) {
	t.Helper()
	claim(t, c, "delivers_an_order_under_the_id_of_its_row", deliversUnderOneID)
	claim(t, c, "delivers_nothing_of_a_request_that_fails_or_does_not_commit", deliversNothingRolledBack)
	claim(t, c, "refuses_every_path_outside_a_transaction", refusesOutsideTransaction)
	claim(t, c, "refuses_a_bad_message_before_any_SQL_and_goes_on_with_the_transaction", refusesBeforeSQL)
	claim(t, c, "answers_bad_requests_with_problems", answersProblems)
}

// realBroker are the claims about brokers and relays that end and begin. The broker inside a process ends with it.
func realBroker(t *testing.T, c combination) {
	t.Helper()
	claim(t, c, "parks_what_fails_delivers_it_when_it_is_requeued_and_shows_so", recoversParked)
	claim(t, c, "is_not_ready_while_nobody_relays", noticesNobody)
	claim(t, c, "answers_201_while_the_broker_is_down_and_delivers_all_in_order_afterwards", survivesOutage)
	claim(t, c, "shares_5000_messages_between_two_relays_each_once_and_in_order", sharesBetweenRelays)
	claim(t, c, "delivers_all_in_order_when_a_relay_is_killed", survivesKill)
	claim(t, c, "delivers_each_once_when_a_relay_is_terminated", survivesTermination)
}

// claim is a subtest that runs beside the others.
func claim(t *testing.T, c combination, name string, check func(t *testing.T, c combination)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		check(t, c)
	})
}
