package gormstore

import (
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/postroom/postroom/internal/testservices"
)

// FuzzArrays: PostgreSQL reads an array's text as what it was made of, whatever texts hold.
func FuzzArrays(f *testing.F) {
	f.Add("", "NULL", `a"b\c,{d} '`, int64(0))
	f.Add("{}", "ключ\n", `\`, int64(-1)<<63)
	f.Add(`"`, `\"`, "\t\x7f", int64(1)<<62)
	pool, err := sql.Open("pgx", testservices.Postgres(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = pool.Close() })
	f.Fuzz(func(t *testing.T, a, b, c string, n int64) {
		want := []string{a, b, c}
		for _, s := range want {
			if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
				return // Prepare refuses it
			}
		}
		ids := []uuid.UUID{uuid.NewSHA1(uuid.Nil, []byte(a)), uuid.NewSHA1(uuid.Nil, []byte(b))}
		var got struct {
			Texts []string
			Ints  []int64
			Bools []bool
			IDs   []uuid.UUID
		}
		var answer []byte
		err := pool.QueryRowContext(t.Context(), `SELECT json_build_object('texts', $1::text[], 'ints', $2::bigint[],
			'bools', $3::boolean[], 'ids', $4::uuid[])`,
			textArray(want), intArray([]int64{n, -n}), boolArray([]bool{n > 0, true}), uuidArray(ids)).Scan(&answer)
		if err != nil {
			t.Fatalf("%q: %v", want, err)
		}
		if err := json.Unmarshal(answer, &got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Texts, want) || !slices.Equal(got.Ints, []int64{n, -n}) ||
			!slices.Equal(got.Bools, []bool{n > 0, true}) || !slices.Equal(got.IDs, ids) {
			t.Errorf("got %+v of %q, %d, %v", got, want, n, ids)
		}
	})
}
