package gormstore

// BacklogSQL is the statement of Backlog, for tests that look at its plan.
func (s *Store) BacklogSQL() string { return s.dialect.(*postgres).sql.backlog }

// PurgeSQL is the statement of PurgeArchive.
func (s *Store) PurgeSQL() string { return s.dialect.(*postgres).sql.purgeArchive }
