package mutants

const (
	storeTests    = "./gormstore#"
	mariadbStore  = storeTests + "TestStore/mariadb/"
	capturedRows  = "gormstore/capture_rows.go"
	hookFile      = "gormstore/hook.go"
	inboxFile     = "gormstore/inbox.go"
	mysqlClaim    = "gormstore/mysql_claim.go"
	mysqlLanes    = "gormstore/mysql_lanes.go"
	mysqlOnce     = "gormstore/mysql_once.go"
	mysqlSettle   = "gormstore/mysql_settle.go"
	adapterInbox  = "watermilladapter/inbox.go"
	adapterInboxT = "./watermilladapter#TestInbox/"
)

// Server breaks captures, the inbox, and the statements of MariaDB, which are not those of PostgreSQL. The tests need
// both servers.
func Server() []Mutant {
	return []Mutant{
		{"other rows than were read are captured", capturedRows, "if int64(rows) != db.RowsAffected {", "if false {", storeTests + "TestCaptureOthers"},
		{"a commit that fails keeps events", hookFile, "t.rolledBack()\n\t\treturn err", "return err", storeTests + "TestRaise/keeps_events_when_a_commit_by_hand_is_refused"},
		{"a message is handled again", inboxFile, "if err != nil || !handled {", "if err != nil {", storeTests + "TestInbox/handles_a_message_once"},
		{"a handler runs outside of the inbox's transaction", inboxFile, "return handle(tx.Context())", "return handle(ctx)", storeTests + "TestInbox/forgets_a_message"},
		{"all handlers are one", mysqlOnce, "VALUES (?, ?, {now})`\n\tmyPurgeInbox", "VALUES (left(?, 0), ?, {now})`\n\tmyPurgeInbox", storeTests + "TestInbox/handles_a_message_once_for_each_handler/mariadb"},
		{"what a handler in Watermill produced is lost", adapterInbox, "if err == nil && len(produced) > 0 {", "if err == nil && len(produced) > 1 {", adapterInboxT + "refuses_a_handler_that_lets_the_router_publish"},
		{"a payload that is read apart is lost", "gormstore/postgres_wide.go", "r.message.Payload = payload", "_, _ = r, payload", storeTests + "TestClaim/brings_payloads_of_any_size/postgres"},
		{"payloads that are read apart do not count", sqlClaim, "len(r.message.Payload) + r.wide", "len(r.message.Payload)", storeTests + "TestClaim/stops_at_its_bounds_and_never_skips/postgres"},
		{"on MariaDB a claim does not compare epochs", mysqlClaim, "if epochs[lane] == epoch {", "if true {", mariadbStore + "lanes/change_their_epoch_when_they_are_lost"},
		{"on MariaDB a claim passes blocks", mysqlClaim, "AND b.seq < m.seq)`", "AND b.seq < m.seq AND FALSE)`", mariadbStore + "order/holds_a_key_behind_a_parked_message"},
		{"on MariaDB a settle without its claim writes", mysqlSettle, "if did.claims == 0 {", "if false {", storeTests + "TestRace/a_settle_that_waited_behind_a_takeover/mixed/mariadb"},
		{"on MariaDB a delivery leaves the message", mysqlSettle, "`DELETE c, m FROM {claims} c", "`DELETE c FROM {claims} c", mariadbStore + "settle/removes_what_was_delivered"},
		{"on MariaDB a recovery takes messages as they were", mysqlLanes, "SET state = 4, holds", "SET state = 0, holds", mariadbStore + "recovery/turns_a_dead_sessions_claim_into_suspects"},
		{"on MariaDB voiding raises no epoch", mysqlLanes, "m.text(myRaiseEpochs, \"{lanes_asked}\", numberList(locked))", "\"DO 0\"", storeTests + "TestVoid/keeps_a_claim_from_being_made_later/mariadb"},
	}
}
