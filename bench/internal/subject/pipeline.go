package subject

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/servers"
)

// pipeline is the bare pipeline: the relay's tables, reads, batches and deletes in a loop by hand, with as many workers
// and the same bounds. It has no claims, no leases, no order beyond the way of success, no retries and no headers.
// Without a broker it is the fetch and delete alone.
type pipeline struct {
	Site
	store *Store
	pool  *sql.DB
	open  newSender
}

func openPipeline(open newSender) func(context.Context, Site) (Subject, error) {
	return func(ctx context.Context, site Site) (Subject, error) {
		s, err := OpenStore(ctx, site)
		if err != nil {
			return nil, err
		}
		pool, err := servers.OpenPool(site.Database)
		if err != nil {
			return nil, err
		}
		return &pipeline{Site: site, store: s, pool: pool, open: open}, nil
	}
}

func (p *pipeline) Fill(ctx context.Context) error { return p.store.Fill(ctx, p.Site) }

func (p *pipeline) Drain(ctx context.Context) error {
	p.Progress.Begin()
	defer p.Progress.End()
	return eachWorker(ctx, p.Site, p.open, p.work)
}

// work reads the lanes of one worker by number, remembering how far it has come in each, until they are empty.
func (p *pipeline) work(ctx context.Context, worker int, to sender) error {
	at := newCursors(worker)
	for {
		messages, err := p.read(ctx, at)
		if err != nil || len(messages) == 0 {
			return err
		}
		if err := to.Send(ctx, messages); err != nil {
			return err
		}
		if err := p.remove(ctx, messages); err != nil {
			return err
		}
		p.Progress.Add(len(messages))
	}
}

const pipelineRead = `
SELECT b.lane, b.seq, b.id, b.key, b.payload
FROM (
  SELECT m.*, sum(octet_length(m.payload)) OVER (ROWS UNBOUNDED PRECEDING) AS bytes
  FROM unnest($1::smallint[], $2::bigint[]) AS l (lane, done)
  CROSS JOIN LATERAL (
    SELECT lane, seq, id, key, payload FROM outbox_messages
    WHERE lane = l.lane AND state = 0 AND seq > l.done
    ORDER BY seq LIMIT $3
  ) m
  LIMIT $4
) b
WHERE b.bytes <= $5`

func (p *pipeline) read(ctx context.Context, at *cursors) ([]load.Message, error) {
	rows, err := p.pool.QueryContext(ctx, pipelineRead, at.lanes, at.done, batch/len(at.lanes)+1, batch, BatchBytes)
	if err != nil {
		return nil, fmt.Errorf("read a batch: %w", err)
	}
	defer rows.Close()
	messages := make([]load.Message, 0, batch)
	for rows.Next() {
		var lane int16
		var seq int64
		var m load.Message
		if err := rows.Scan(&lane, &seq, &m.ID, &m.Key, &m.Body); err != nil {
			return nil, fmt.Errorf("read a message: %w", err)
		}
		at.pass(lane, seq)
		messages = append(messages, m)
	}
	return messages, rows.Err()
}

func (p *pipeline) remove(ctx context.Context, messages []load.Message) error {
	ids := make([][16]byte, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	if _, err := p.pool.ExecContext(ctx, `DELETE FROM outbox_messages WHERE id = ANY ($1::uuid[])`, ids); err != nil {
		return fmt.Errorf("delete a batch: %w", err)
	}
	return nil
}

func (p *pipeline) Close() error { return joinClose(p.pool.Close, p.store.Close) }

// cursors are the lanes of a worker and the last number read of each.
type cursors struct {
	lanes []int16
	done  []int64
}

func newCursors(worker int) *cursors {
	c := &cursors{}
	for lane := worker; lane < Lanes; lane += Workers {
		c.lanes = append(c.lanes, int16(lane))
		c.done = append(c.done, 0)
	}
	return c
}

func (c *cursors) pass(lane int16, seq int64) { c.done[int(lane)/Workers] = seq }
