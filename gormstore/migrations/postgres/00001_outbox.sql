CREATE TABLE {meta} (
  id      smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  version integer NOT NULL,
  lanes   integer NOT NULL CHECK (lanes BETWEEN 1 AND 4096)
);

-- The numbers decide the order, so they come one by one (CACHE 1). No btree on seq alone: the planner would walk it.
CREATE TABLE {messages} (
  id           uuid PRIMARY KEY,
  seq          bigint GENERATED ALWAYS AS IDENTITY (CACHE 1),
  lane         smallint NOT NULL,
  state        smallint NOT NULL DEFAULT 0,
  attempts     integer NOT NULL DEFAULT 0,
  failures     integer NOT NULL DEFAULT 0,
  crashes      integer NOT NULL DEFAULT 0,
  version      integer NOT NULL,
  uncertain    boolean NOT NULL DEFAULT false,
  available_at timestamptz,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  topic        text NOT NULL,
  key          text COLLATE "C",
  type         text NOT NULL,
  content_type text NOT NULL,
  transport    text NOT NULL DEFAULT '',
  tenant       text NOT NULL DEFAULT '',
  last_class   text,
  last_error   text,
  headers      bytea,
  payload      bytea
) WITH (
  toast_tuple_target = 8160, vacuum_truncate = off,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000
);
ALTER TABLE {messages} ALTER COLUMN payload SET STORAGE EXTERNAL;

COMMENT ON COLUMN {messages}.state IS
  '0 ready, 1 scheduled, 2 retrying, 3 parked and holding its key, 4 suspect, 5 parked and its key goes on';
COMMENT ON COLUMN {messages}.uncertain IS 'a hand-over ended without an answer: a broker may hold a copy';

CREATE INDEX {name_messages_ready} ON {messages} (lane, seq) WHERE state = 0;
CREATE INDEX {name_messages_due} ON {messages} (lane, available_at) WHERE state IN (1, 2);
CREATE INDEX {name_messages_suspect} ON {messages} (lane, available_at) WHERE state = 4;
CREATE INDEX {name_messages_keyed} ON {messages} (lane, key, seq) WHERE state IN (2, 3, 4);
CREATE INDEX {name_messages_parked} ON {messages} (seq) WHERE state IN (3, 5);

CREATE TABLE {sessions} (
  id         uuid PRIMARY KEY,
  relay      text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  stopped_at timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

CREATE TABLE {lanes} (
  lane  smallint PRIMARY KEY,
  owner uuid,
  epoch bigint NOT NULL DEFAULT 1,
  nudge bigint NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

CREATE TABLE {claims} (
  token      uuid PRIMARY KEY,
  session    uuid NOT NULL,
  worker     integer NOT NULL,
  ids        uuid[] NOT NULL,
  claimed_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
ALTER TABLE {claims} ALTER COLUMN ids SET STORAGE EXTERNAL;

-- Of this key, nothing above seq may be claimed.
CREATE TABLE {blocks} (
  lane smallint,
  key  text COLLATE "C",
  seq  bigint NOT NULL,
  PRIMARY KEY (lane, key)
) WITH (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 500
);

INSERT INTO {meta} (version, lanes) VALUES (1, {lane_count});
INSERT INTO {lanes} (lane) SELECT generate_series(0, {lane_count} - 1);

-- A plan made on the empty table would read all of it when it is full. Rows that come and go leave pages behind, here
-- one each: so many that a list of ids is always cheaper by the primary key, for which ten are assumed.
INSERT INTO {messages} (id, lane, version, topic, type, content_type, payload)
SELECT gen_random_uuid(), i % {lane_count}, 1, 'padding', 'padding', '', decode(repeat('00', 7000), 'hex')
FROM generate_series(1, 256) i;
DELETE FROM {messages};
