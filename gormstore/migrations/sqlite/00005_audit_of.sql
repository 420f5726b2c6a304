-- The history of one message. Acts on a scope, such as a pause, have the zero id.
CREATE INDEX {name_audit_message} ON {audit} (message, id);

UPDATE {meta} SET version = 5;
