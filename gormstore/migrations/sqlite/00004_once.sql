-- Requests that have run or are running: sum is the hash of the whole key. No answer yet: reserved until expires_at.
CREATE TABLE {idempotency} (
  sum         BLOB PRIMARY KEY,
  owner       TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  expires_at  INTEGER NOT NULL,
  answer      BLOB
);

CREATE INDEX {name_idempotency_expires} ON {idempotency} (expires_at);

-- Messages of others that a handler of this application has handled.
CREATE TABLE {inbox} (
  handler    TEXT NOT NULL,
  id         TEXT NOT NULL,
  handled_at INTEGER NOT NULL,
  PRIMARY KEY (handler, id)
) WITHOUT ROWID;

CREATE INDEX {name_inbox_handled} ON {inbox} (handled_at);

UPDATE {meta} SET version = 4;
