-- Each statement commits by itself, so each can be run again after a migration that ended half-way.
CREATE TABLE IF NOT EXISTS {meta} (
  id      TINYINT NOT NULL PRIMARY KEY,
  version INT NOT NULL,
  lanes   INT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Instants are microseconds since 1970 by the database's clock. A key is bytes, because text that differs in trailing
-- blanks alone compares equal. holds is the key of a message that blocks it (state 2, 3 or 4), bytes the payload's size.
CREATE TABLE IF NOT EXISTS {messages} (
  seq          BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  id           BINARY(16) NOT NULL,
  lane         SMALLINT NOT NULL,
  state        TINYINT NOT NULL DEFAULT 0
    COMMENT '0 ready, 1 scheduled, 2 retrying, 3 parked and holding its key, 4 suspect, 5 parked and its key goes on',
  attempts     INT NOT NULL DEFAULT 0,
  failures     INT NOT NULL DEFAULT 0,
  crashes      INT NOT NULL DEFAULT 0,
  version      INT NOT NULL,
  uncertain    BOOLEAN NOT NULL DEFAULT FALSE
    COMMENT 'a hand-over ended without an answer: a broker may hold a copy',
  available_at BIGINT,
  created_at   BIGINT NOT NULL,
  topic        VARCHAR(255) NOT NULL,
  `key`        VARBINARY(1024),
  holds        VARBINARY(1024),
  type         VARCHAR(255) NOT NULL,
  content_type VARCHAR(255) NOT NULL,
  transport    VARCHAR(255) NOT NULL DEFAULT '',
  tenant       VARCHAR(255) NOT NULL DEFAULT '',
  last_class   VARCHAR(255),
  last_error   TEXT,
  headers      MEDIUMBLOB,
  payload      LONGBLOB,
  bytes        INT NOT NULL,
  UNIQUE KEY id (id),
  KEY place (state, lane, holds, seq),
  KEY due (state, lane, available_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {sessions} (
  id         BINARY(16) NOT NULL PRIMARY KEY,
  relay      TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  stopped_at BIGINT
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {lanes} (
  lane   SMALLINT NOT NULL PRIMARY KEY,
  owner  BINARY(16),
  epoch  BIGINT NOT NULL DEFAULT 1,
  nudge  BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- seqs is a JSON array.
CREATE TABLE IF NOT EXISTS {claims} (
  token      BINARY(16) NOT NULL PRIMARY KEY,
  session    BINARY(16) NOT NULL,
  worker     INT NOT NULL,
  seqs       LONGTEXT NOT NULL,
  claimed_at BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Of this key, nothing above seq may be claimed.
CREATE TABLE IF NOT EXISTS {blocks} (
  lane  SMALLINT NOT NULL,
  `key` VARBINARY(1024) NOT NULL,
  seq   BIGINT NOT NULL,
  PRIMARY KEY (lane, `key`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Rows to lock for keys: a lock here ends with its transaction, as one by GET_LOCK would not.
CREATE TABLE IF NOT EXISTS {keys} (
  slot SMALLINT NOT NULL PRIMARY KEY
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT IGNORE INTO {meta} (id, version, lanes) VALUES (1, 1, {lane_count});

INSERT IGNORE INTO {lanes} (lane)
SELECT i FROM ({numbers}) n JOIN {meta} ON i < lanes;

INSERT IGNORE INTO {keys} (slot)
SELECT i FROM ({numbers}) n WHERE i < 1024;
