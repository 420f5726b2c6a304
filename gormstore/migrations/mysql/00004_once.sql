-- Requests that have run or are running: sum is the hash of the whole key. No answer yet: reserved until expires_at.
CREATE TABLE IF NOT EXISTS {idempotency} (
  sum         BINARY(32) NOT NULL PRIMARY KEY,
  owner       CHAR(36) NOT NULL,
  fingerprint VARBINARY(255) NOT NULL,
  expires_at  BIGINT NOT NULL,
  answer      LONGBLOB,
  KEY expires (expires_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Messages of others that a handler of this application has handled.
CREATE TABLE IF NOT EXISTS {inbox} (
  handler    VARBINARY(255) NOT NULL,
  id         VARBINARY(255) NOT NULL,
  handled_at BIGINT NOT NULL,
  PRIMARY KEY (handler, id),
  KEY handled (handled_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

UPDATE {meta} SET version = 4;
