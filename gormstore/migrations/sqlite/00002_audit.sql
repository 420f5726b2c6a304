-- What operators did, to which message, and why. It outlives the message.
CREATE TABLE {audit} (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  at      INTEGER NOT NULL,
  by      TEXT NOT NULL,
  reason  TEXT NOT NULL,
  act     TEXT NOT NULL,
  message TEXT NOT NULL,
  topic   TEXT NOT NULL,
  key     TEXT
);

UPDATE {meta} SET version = 2;
