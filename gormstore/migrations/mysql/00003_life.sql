-- Delivered messages, when they are kept: appended, never changed, and purged by age. An id may come again.
CREATE TABLE IF NOT EXISTS {archive} (
  n            BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  delivered_at BIGINT NOT NULL,
  id           BINARY(16) NOT NULL,
  seq          BIGINT NOT NULL,
  lane         SMALLINT NOT NULL,
  attempts     INT NOT NULL,
  failures     INT NOT NULL,
  version      INT NOT NULL,
  uncertain    BOOLEAN NOT NULL,
  available_at BIGINT,
  created_at   BIGINT NOT NULL,
  topic        VARCHAR(255) NOT NULL,
  `key`        VARBINARY(1024),
  type         VARCHAR(255) NOT NULL,
  content_type VARCHAR(255) NOT NULL,
  transport    VARCHAR(255) NOT NULL,
  tenant       VARCHAR(255) NOT NULL,
  headers      MEDIUMBLOB,
  payload      LONGBLOB,
  KEY delivered (delivered_at),
  KEY id (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What is not to be claimed for now: all, a topic, or a key in its lane. One that is ending holds nothing any more,
-- and stays until all that it set aside is due again.
CREATE TABLE IF NOT EXISTS {pauses} (
  topic  VARCHAR(255) NOT NULL,
  `key`  VARBINARY(1024) NOT NULL,
  lane   SMALLINT,
  `by`   TEXT NOT NULL,
  reason TEXT NOT NULL,
  at     BIGINT NOT NULL,
  ending BOOLEAN NOT NULL DEFAULT FALSE,
  PRIMARY KEY (topic, `key`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

UPDATE {meta} SET version = 3;
