-- Delivered messages, when they are kept: appended, never changed, and purged by age. An id may come again.
CREATE TABLE {archive} (
  delivered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  id           uuid NOT NULL,
  seq          bigint NOT NULL,
  lane         smallint NOT NULL,
  attempts     integer NOT NULL,
  failures     integer NOT NULL,
  version      integer NOT NULL,
  uncertain    boolean NOT NULL,
  available_at timestamptz,
  created_at   timestamptz NOT NULL,
  topic        text NOT NULL,
  key          text COLLATE "C",
  type         text NOT NULL,
  content_type text NOT NULL,
  transport    text NOT NULL,
  tenant       text NOT NULL,
  headers      bytea,
  payload      bytea
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE {archive} ALTER COLUMN payload SET STORAGE EXTERNAL;

CREATE INDEX {name_archive_delivered} ON {archive} (delivered_at);
CREATE INDEX {name_archive_id} ON {archive} (id);

-- What is not to be claimed for now: all, a topic, or a key in its lane. One that is ending holds nothing any more,
-- and stays until all that it set aside is due again.
CREATE TABLE {pauses} (
  topic  text NOT NULL,
  key    text COLLATE "C" NOT NULL,
  lane   smallint,
  by     text NOT NULL,
  reason text NOT NULL,
  at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  ending boolean NOT NULL DEFAULT false,
  PRIMARY KEY (topic, key)
);

UPDATE {meta} SET version = 3;
