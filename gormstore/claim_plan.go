package gormstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// ClaimPlan is how the database would find the messages of a claim.
type ClaimPlan struct {
	// WholeTable says that a claim would look at every message that is stored.
	WholeTable bool
	// Bytes is the size of the table. Reading all of a small one is no fault.
	Bytes int64
}

// ClaimPlan asks PostgreSQL for the plan that a relay gets that has run for a while, and claims nothing. Relays that
// run may still use an older one. For other databases it returns [errors.ErrUnsupported].
func (s *Store) ClaimPlan(ctx context.Context) (ClaimPlan, error) {
	p, ok := s.dialect.(*postgres)
	if !ok {
		return ClaimPlan{}, fmt.Errorf("explain a claim: %w", errors.ErrUnsupported)
	}
	var plan ClaimPlan
	err := p.transact(ctx, s.pool, func(q querier) (err error) {
		plan, err = p.explainClaim(ctx, q)
		return err
	})
	if err != nil {
		return ClaimPlan{}, fmt.Errorf("explain a claim: %w", err)
	}
	return plan, nil
}

// explainClaim prepares the statement under a name, since only then the server shows a plan for whatever arguments. A
// name of its own, because one that an error leaves behind stays until its connection ends.
func (p *postgres) explainClaim(ctx context.Context, q querier) (plan ClaimPlan, err error) {
	name := p.names.quote("outbox_explain_" + uuid.NewString())
	for _, statement := range []string{
		"SET LOCAL plan_cache_mode = force_generic_plan",
		"PREPARE " + name + " AS " + p.sql.read,
	} {
		if _, err := q.ExecContext(ctx, statement); err != nil {
			return plan, err
		}
	}
	const arguments = 10 // of pgRead
	nulls := strings.TrimSuffix(strings.Repeat("NULL, ", arguments), ", ")
	var text string
	row := q.QueryRowContext(ctx, "EXPLAIN (FORMAT JSON) EXECUTE "+name+" ("+nulls+")")
	if err := row.Scan(&text); err != nil {
		return plan, err
	}
	if _, err := q.ExecContext(ctx, "DEALLOCATE "+name); err != nil {
		return plan, err
	}
	var explained []struct{ Plan planNode }
	if err := json.Unmarshal([]byte(text), &explained); err != nil {
		return plan, err
	}
	for _, e := range explained {
		plan.WholeTable = plan.WholeTable || e.Plan.readsAll(p.names.prefix+"_messages")
	}
	size := "SELECT pg_relation_size(to_regclass(" + literal(p.names.table("messages")) + "))"
	return plan, q.QueryRowContext(ctx, size).Scan(&plan.Bytes)
}

// planNode is a node of what EXPLAIN says.
type planNode struct {
	Type     string `json:"Node Type"`
	Relation string `json:"Relation Name"`
	Cond     string `json:"Index Cond"`
	Plans    []planNode
}

// readsAll reports whether the plan looks at every row of a table.
func (n planNode) readsAll(table string) bool {
	if n.Relation == table {
		byIndex := strings.HasPrefix(n.Type, "Index") && n.Cond != ""
		if !byIndex && !strings.HasPrefix(n.Type, "Bitmap") {
			return true
		}
	}
	for _, child := range n.Plans {
		if child.readsAll(table) {
			return true
		}
	}
	return false
}
