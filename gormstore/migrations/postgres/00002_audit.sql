-- What operators did, to which message, and why. It outlives the message.
CREATE TABLE {audit} (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  by      text NOT NULL,
  reason  text NOT NULL,
  act     text NOT NULL,
  message uuid NOT NULL,
  topic   text NOT NULL,
  key     text COLLATE "C"
);

UPDATE {meta} SET version = 2;
