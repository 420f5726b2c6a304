package gormstore

import (
	"context"
	"database/sql"
	"strconv"
)

// myFree leaves a message out while an earlier one of its key blocks.
const myFree = `NOT EXISTS (SELECT 1 FROM {blocks} b WHERE b.lane = m.lane AND b.` + "`key`" + ` = m.` + "`key`" +
	` AND b.seq < m.seq)`

const (
	// myHeld locks lanes against their loss.
	myHeld = `SELECT lane, epoch, nudge FROM {lanes} FORCE INDEX (PRIMARY)
WHERE lane IN ({lanes_asked}) AND owner = {session} ORDER BY lane LOCK IN SHARE MODE`

	// myLook makes the snapshot: whether the session is alive (-1), whether suspects are due (-2), and in which lanes
	// messages wait for their time.
	myLook = `
SELECT -1 FROM {sessions} WHERE id = {session} AND stopped_at IS NULL AND expires_at > {now}
UNION ALL
SELECT -2 FROM DUAL WHERE EXISTS (SELECT 1 FROM {messages} m FORCE INDEX (due)
  WHERE m.state = 4 AND m.lane IN ({lanes_held}) AND m.available_at <= {now} AND ` + myFree + `)
UNION ALL
(SELECT lane FROM {messages} FORCE INDEX (due) WHERE state IN (1, 2) AND lane IN ({lanes_held}) GROUP BY state, lane)`

	// myReady and myDue are narrow reads of one lane, to be joined by UNION ALL.
	myReady = "(SELECT %d, m.seq, m.state, m.bytes, m.`key`" + ` FROM {messages} m FORCE INDEX (place)
WHERE m.state = 0 AND m.lane = %d AND m.holds IS NULL AND m.seq >= %d AND ` + myFree + ` ORDER BY m.seq LIMIT %d)`
	myDue = "(SELECT %d, m.seq, m.state, m.bytes, m.`key`" + ` FROM {messages} m FORCE INDEX (due)
WHERE m.state IN (1, 2) AND m.lane = %d AND m.available_at <= {now} AND m.seq >= %d AND ` + myFree + `
ORDER BY m.available_at LIMIT %d)`

	mySuspect = "SELECT 0, m.seq, m.state, m.bytes, m.`key`" + ` FROM {messages} m FORCE INDEX (due)
WHERE m.state = 4 AND m.lane IN ({lanes_held}) AND m.available_at <= {now} AND ` + myFree + `
ORDER BY m.available_at, m.seq LIMIT 1`

	myRead = `SELECT ` + liteColumns + ` FROM {messages} m WHERE m.seq IN ({seqs})`

	myPut = `INSERT INTO {claims} (token, session, worker, seqs, claimed_at)
VALUES ({token}, {session}, {worker}, '[{seqs}]', {now})`
)

// claim reads, records what it read, and then looks for what it could not see.
func (m *mysql) claim(ctx context.Context, pool *sql.DB, q claimQuery) (claimAnswer, error) {
	var c *myClaim
	err := transactAt(ctx, pool, sql.LevelRepeatableRead, func(db querier) error {
		c = &myClaim{mysql: m, q: q, db: db, last: make([]int64, len(q.lanes))}
		c.asked, c.counts = make([]int, len(q.lanes)), make([]int, len(q.lanes))
		return c.run(ctx)
	})
	if err != nil {
		return claimAnswer{}, err
	}
	if len(c.spans) > 0 {
		c.answer.late = m.late(ctx, pool, c.spans, c.seen)
	}
	return c.answer, nil
}

// myClaim is a claim on its way.
type myClaim struct {
	*mysql
	q      claimQuery
	db     querier
	answer claimAnswer
	held   []int // lanes
	due    map[int]bool
	picks  []pick
	bytes  int
	asked  []int   // of messages, by ord
	counts []int   // by ord
	last   []int64 // number, by ord
	spans  []span
	seen   map[int]tally
}

func (c *myClaim) run(ctx context.Context) error {
	if err := c.lockHeld(ctx); err != nil || len(c.held) == 0 {
		return err
	}
	alive, err := c.look(ctx)
	if err != nil || !alive {
		c.answer.nudges = nil
		return err
	}
	if c.q.Suspect {
		err = c.suspect(ctx)
	} else {
		err = c.fill(ctx)
	}
	if err != nil || len(c.picks) == 0 {
		return err
	}
	if err := c.read(ctx); err != nil {
		return err
	}
	if err := c.tally(ctx); err != nil {
		return err
	}
	_, err = c.db.ExecContext(ctx, c.text(myPut, "{token}", idList(c.q.Token), "{session}", idList(c.q.Session),
		"{worker}", strconv.Itoa(c.q.Worker), "{seqs}", numberList(c.seqs())))
	return err
}

func (c *myClaim) seqs() []int64 {
	seqs := make([]int64, len(c.picks))
	for i, p := range c.picks {
		seqs[i] = p.seq
	}
	return seqs
}

// lockHeld finds the asked lanes that the session still holds at the given epoch.
func (c *myClaim) lockHeld(ctx context.Context) error {
	var asked []int
	epochs := map[int]int64{}
	for _, l := range c.q.lanes {
		asked = append(asked, l.lane)
		epochs[l.lane] = l.epoch
	}
	rows, err := c.db.QueryContext(ctx,
		c.text(myHeld, "{lanes_asked}", numberList(asked), "{session}", idList(c.q.Session)))
	if err != nil {
		return err
	}
	defer rows.Close()
	c.answer.nudges = map[int]int64{}
	for rows.Next() {
		var lane int
		var epoch, nudge int64
		if err := rows.Scan(&lane, &epoch, &nudge); err != nil {
			return err
		}
		if epochs[lane] == epoch {
			c.answer.nudges[lane] = nudge
			c.held = append(c.held, lane)
		}
	}
	return rows.Err()
}

func (c *myClaim) look(ctx context.Context) (alive bool, err error) {
	found, err := collect[int](c.db.QueryContext(ctx,
		c.text(myLook, "{session}", idList(c.q.Session), "{lanes_held}", numberList(c.held))))
	c.due = map[int]bool{}
	for _, f := range found {
		c.due[f] = true
	}
	c.answer.suspects = c.due[-2]
	return c.due[-1], err
}

func (c *myClaim) suspect(ctx context.Context) error {
	if c.q.Limit < 1 {
		return nil
	}
	picks, err := readPicks(c.db.QueryContext(ctx, c.text(mySuspect, "{lanes_held}", numberList(c.held))))
	c.picks = picks
	return err
}

// read reads what is wide, by number.
func (c *myClaim) read(ctx context.Context) error {
	rows, err := readLite(c.db.QueryContext(ctx, c.text(myRead, "{seqs}", numberList(c.seqs()))))
	if err != nil {
		return err
	}
	ords := make(map[int64]int, len(c.picks))
	for _, p := range c.picks {
		ords[p.seq] = p.ord
	}
	for _, r := range rows {
		r.ord = ords[r.seq]
	}
	c.answer.rows = rows
	return nil
}

// tally counts, in the same snapshot, all that is ready up to what the cursors would pass.
func (c *myClaim) tally(ctx context.Context) (err error) {
	ends := map[int]int64{}
	for _, p := range c.picks {
		if p.state == ready {
			ends[p.ord] = max(ends[p.ord], p.seq)
		}
	}
	for ord, end := range ends {
		l := c.q.lanes[ord]
		c.spans = append(c.spans, span{l.lane, c.answer.start(l, c.answer.nudges[l.lane]), end})
	}
	if len(c.spans) > 0 {
		c.seen, err = c.tallies(ctx, c.db, c.spans)
	}
	return err
}
