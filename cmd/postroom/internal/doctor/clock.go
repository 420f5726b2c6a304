package doctor

import (
	"context"
	"fmt"
	"time"
)

// wrongClock is how far this machine's clock may be off.
const wrongClock = time.Second

// clock compares this machine's clock with the database's, by the quickest of a few looks.
func (e *examination) clock(ctx context.Context) ([]Finding, error) {
	statement := "SELECT extract(epoch FROM clock_timestamp())::float8"
	if e.dialect == onMySQL {
		statement = "SELECT cast(timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) AS double) / 1e6"
	}
	best, off := time.Duration(-1), time.Duration(0)
	for range 5 {
		began := e.Now()
		rows, err := query[float64](ctx, e, statement)
		if err != nil {
			return nil, err
		}
		took := e.Now().Sub(began)
		if best < 0 || took < best {
			best, off = took, time.Unix(0, int64(rows[0]*1e9)).Sub(began.Add(took/2))
		}
	}
	if max(off, -off) <= wrongClock+best/2 {
		return nil, nil
	}
	way := "behind"
	if off < 0 {
		way = "ahead of"
	}
	return []Finding{{
		Severity: Warning, Subject: "this machine",
		Text: fmt.Sprintf("its clock is %v %s the database's: what applications here schedule is due at another time "+
			"(leases, retries and ages go by the database's clock)", max(off, -off).Round(100*time.Millisecond), way),
		Fix: "let the system keep its clock by NTP, here and on the database's machine",
	}}, nil
}
