-- The history of one message. Acts on a scope, such as a pause, have the zero id. MySQL has no IF NOT EXISTS here: drop
-- the index before the migration is run again, if it died between these two.
CREATE INDEX /*M! IF NOT EXISTS */ message ON {audit} (message, id);

UPDATE {meta} SET version = 5;
