package doctor

import (
	"context"
	"fmt"
	"strings"
)

// heldShown bounds the keys that are counted.
const heldShown = 1000

// held looks for keys that wait for a message which is gone, because somebody has deleted rows by hand.
func (e *examination) held(ctx context.Context) ([]Finding, error) {
	key, from := "key", "FROM"
	if e.dialect == onMySQL {
		key, from = "`key`", "b FROM"
	}
	words := strings.NewReplacer("{blocks}", e.table("blocks"), "{messages}", e.table("messages"), "{key}", key,
		"{from}", from)
	keys, err := query[string](ctx, e, words.Replace(`
SELECT b.{key} FROM {blocks} b
WHERE NOT EXISTS (SELECT 1 FROM {messages} m WHERE m.lane = b.lane AND m.seq = b.seq)
  AND NOT EXISTS (SELECT 1 FROM {messages} m WHERE m.lane = b.lane AND m.{key} = b.{key} AND m.state IN (2, 3, 4))
ORDER BY b.lane, b.{key} LIMIT ?`), heldShown)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	all := count(int64(len(keys)), "such key")
	if len(keys) == heldShown {
		all = "at least " + all
	}
	return []Finding{{
		Severity: Critical, Subject: "key " + keys[0],
		Text: fmt.Sprintf("it waits for good for a message whose row was deleted by hand; %s in all", all),
		Fix: words.Replace("stop the relays, DELETE {from} {blocks} b WHERE NOT EXISTS (SELECT 1 FROM {messages} m " +
			"WHERE m.lane = b.lane AND m.{key} = b.{key} AND m.state IN (2, 3, 4)), and start them; next time postroom discard"),
	}}, nil
}
