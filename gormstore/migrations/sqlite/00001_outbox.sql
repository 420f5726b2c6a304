CREATE TABLE {meta} (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL,
  lanes   INTEGER NOT NULL CHECK (lanes BETWEEN 1 AND 4096)
);

-- AUTOINCREMENT: a plain rowid gives a deleted top number out again, below a reader's cursor.
-- Instants are microseconds since 1970 by the database's clock.
CREATE TABLE {messages} (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  id           TEXT NOT NULL UNIQUE,
  lane         INTEGER NOT NULL,
  state        INTEGER NOT NULL DEFAULT 0,
  attempts     INTEGER NOT NULL DEFAULT 0,
  failures     INTEGER NOT NULL DEFAULT 0,
  crashes      INTEGER NOT NULL DEFAULT 0,
  version      INTEGER NOT NULL,
  uncertain    INTEGER NOT NULL DEFAULT 0,
  available_at INTEGER,
  created_at   INTEGER NOT NULL,
  topic        TEXT NOT NULL,
  key          TEXT,
  type         TEXT NOT NULL,
  content_type TEXT NOT NULL,
  transport    TEXT NOT NULL DEFAULT '',
  tenant       TEXT NOT NULL DEFAULT '',
  last_class   TEXT,
  last_error   TEXT,
  headers      BLOB,
  payload      BLOB
);

CREATE INDEX {name_messages_ready} ON {messages} (lane, seq) WHERE state = 0;
CREATE INDEX {name_messages_due} ON {messages} (lane, available_at) WHERE state IN (1, 2);
CREATE INDEX {name_messages_suspect} ON {messages} (lane, available_at) WHERE state = 4;
CREATE INDEX {name_messages_keyed} ON {messages} (lane, key, seq) WHERE state IN (2, 3, 4);
CREATE INDEX {name_messages_parked} ON {messages} (seq) WHERE state IN (3, 5);

CREATE TABLE {sessions} (
  id         TEXT PRIMARY KEY,
  relay      TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  stopped_at INTEGER
);

CREATE TABLE {lanes} (
  lane  INTEGER PRIMARY KEY,
  owner TEXT,
  epoch INTEGER NOT NULL DEFAULT 1,
  nudge INTEGER NOT NULL DEFAULT 0
);

-- ids is a JSON array.
CREATE TABLE {claims} (
  token      TEXT PRIMARY KEY,
  session    TEXT NOT NULL,
  worker     INTEGER NOT NULL,
  ids        TEXT NOT NULL,
  claimed_at INTEGER NOT NULL
);

CREATE TABLE {blocks} (
  lane INTEGER NOT NULL,
  key  TEXT NOT NULL,
  seq  INTEGER NOT NULL,
  PRIMARY KEY (lane, key)
) WITHOUT ROWID;

INSERT INTO {meta} (id, version, lanes) VALUES (1, 1, {lane_count});
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {lane_count})
INSERT INTO {lanes} (lane) SELECT i FROM n;
