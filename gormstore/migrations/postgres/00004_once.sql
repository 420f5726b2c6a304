-- Requests that have run or are running: sum is the hash of the whole key. No answer yet: reserved until expires_at.
CREATE TABLE {idempotency} (
  sum         bytea PRIMARY KEY,
  owner       uuid NOT NULL,
  fingerprint bytea NOT NULL,
  expires_at  timestamptz NOT NULL,
  answer      bytea
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE INDEX {name_idempotency_expires} ON {idempotency} (expires_at);

-- Messages of others that a handler of this application has handled.
CREATE TABLE {inbox} (
  handler    text COLLATE "C",
  id         text COLLATE "C",
  handled_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (handler, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE INDEX {name_inbox_handled} ON {inbox} (handled_at);

UPDATE {meta} SET version = 4;
