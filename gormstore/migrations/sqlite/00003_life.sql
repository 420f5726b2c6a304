-- Delivered messages, when they are kept: appended, never changed, and purged by age. An id may come again.
CREATE TABLE {archive} (
  delivered_at INTEGER NOT NULL,
  id           TEXT NOT NULL,
  seq          INTEGER NOT NULL,
  lane         INTEGER NOT NULL,
  attempts     INTEGER NOT NULL,
  failures     INTEGER NOT NULL,
  version      INTEGER NOT NULL,
  uncertain    INTEGER NOT NULL,
  available_at INTEGER,
  created_at   INTEGER NOT NULL,
  topic        TEXT NOT NULL,
  key          TEXT,
  type         TEXT NOT NULL,
  content_type TEXT NOT NULL,
  transport    TEXT NOT NULL,
  tenant       TEXT NOT NULL,
  headers      BLOB,
  payload      BLOB
);

CREATE INDEX {name_archive_delivered} ON {archive} (delivered_at);
CREATE INDEX {name_archive_id} ON {archive} (id);

-- What is not to be claimed for now: all, a topic, or a key in its lane. One that is ending holds nothing any more,
-- and stays until all that it set aside is due again.
CREATE TABLE {pauses} (
  topic  TEXT NOT NULL,
  key    TEXT NOT NULL,
  lane   INTEGER,
  by     TEXT NOT NULL,
  reason TEXT NOT NULL,
  at     INTEGER NOT NULL,
  ending INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (topic, key)
) WITHOUT ROWID;

UPDATE {meta} SET version = 3;
