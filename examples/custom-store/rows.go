package customstore

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// session is one run of a relay.
type session struct {
	Expires time.Time
	Stopped bool // for good
}

func (s session) alive(now time.Time) bool { return !s.Stopped && now.Before(s.Expires) }

// lane is one row, so that all of it changes at once.
type lane struct {
	Owner  uuid.UUID
	Epoch  int64
	Claims map[uuid.UUID]claim // by token
	Writes []write             // decided, and not yet carried out
}

// claim is what one token holds in one lane.
type claim struct {
	Numbers []int64
	Alone   bool // the claim holds this message and no other, in any lane
}

// write is a decision on one message. It says what the message becomes, not what is added to it, so that carrying it
// out twice does no harm.
type write struct {
	Number int64
	Gone   bool
	standing
}

// standing is what changes about a message.
type standing struct {
	State                       state
	Due                         time.Time
	Attempts, Failures, Crashes int
}

type state int

const (
	ready     state = iota
	scheduled       // waits for its time, and holds nothing until then; once due, it is held like any other
	retrying        // waits for its time and holds its key
	suspect         // was in a recovered claim: claimed alone, and holds its key
	parked          // set aside, holds its key
	skipped         // set aside, its key goes on
)

func (s state) blocks() bool { return s == retrying || s == suspect || s == parked }

// message is what is stored of a message.
type message struct {
	*outbox.Message
	Number int64
	Tx     string // key of the row that is there once the message is committed
	standing
}

func sessionKey(id uuid.UUID) string { return "session/" + id.String() }
func laneKey(n int) string           { return fmt.Sprintf("lane/%04d", n) }
func nextKey(n int) string           { return fmt.Sprintf("next/%04d", n) }
func lanePrefix(n int) string        { return fmt.Sprintf("message/%04d/", n) }
func txKey(id uuid.UUID) string      { return "tx/" + id.String() }

func messageKey(n int, number int64) string { return fmt.Sprintf("%s%019d", lanePrefix(n), number) }

func decode[T any](row Row) (v T) {
	if row.Version == 0 {
		return v
	}
	if err := json.Unmarshal(row.Value, &v); err != nil {
		panic(fmt.Sprintf("row %s: %v", row.Key, err)) // nobody but this package writes rows
	}
	return v
}

func encode(v any) []byte {
	value, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // all of it is plain data
	}
	return value
}

// edit changes one row, again until nobody has changed it in between. change sees the zero value where there is no
// row, and returns false to leave everything as it is.
func edit[T any](t Table, key string, change func(v *T, exists bool) bool) bool {
	for {
		row := t.Get(key)
		v := decode[T](row)
		if !change(&v, row.Version != 0) {
			return false
		}
		if t.CompareAndSwap(key, row.Version, encode(v)) {
			return true
		}
	}
}
