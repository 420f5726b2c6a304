-- What operators did, to which message, and why. It outlives the message.
CREATE TABLE IF NOT EXISTS {audit} (
  id      BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  at      BIGINT NOT NULL,
  `by`    TEXT NOT NULL,
  reason  TEXT NOT NULL,
  act     VARCHAR(255) NOT NULL,
  message BINARY(16) NOT NULL,
  topic   VARCHAR(255) NOT NULL,
  `key`   VARBINARY(1024)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

UPDATE {meta} SET version = 2;
