package testservices_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/internal/testservices"
)

// recorder is a test that keeps its fatal message.
type recorder struct {
	testing.TB
	fatal string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// fatalOf returns what f says when it ends its test, or nothing.
func fatalOf(f func(testing.TB)) string {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.fatal
}

func TestAddresses(t *testing.T) {
	t.Run("come_from_the_environment", func(t *testing.T) {
		t.Setenv(testservices.PostgresEnv, "postgres://db/app")
		t.Setenv(testservices.PgBouncerEnv, "postgres://pool/app")
		t.Setenv(testservices.MariaDBEnv, "mariadb://db/app")
		t.Setenv(testservices.AMQPEnv, " amqp://mq/ ")
		t.Setenv(testservices.KafkaEnv, "a:1, b:2,")
		t.Setenv(testservices.ConnectEnv, "http://connect:8083/")

		got := []any{
			testservices.Postgres(t), testservices.PgBouncer(t), testservices.MariaDB(t), testservices.AMQP(t),
			testservices.Kafka(t), testservices.Connect(t),
		}
		want := []any{
			"postgres://db/app", "postgres://pool/app", "mariadb://db/app", "amqp://mq/",
			[]string{"a:1", "b:2"},
			"http://connect:8083",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("addresses (-want +got):\n%s", diff)
		}
	})

	missing := map[string]func(testing.TB){
		testservices.PostgresEnv:  func(tb testing.TB) { testservices.Postgres(tb) },
		testservices.PgBouncerEnv: func(tb testing.TB) { testservices.PgBouncer(tb) },
		testservices.MariaDBEnv:   func(tb testing.TB) { testservices.MariaDB(tb) },
		testservices.AMQPEnv:      func(tb testing.TB) { testservices.AMQP(tb) },
		testservices.KafkaEnv:     func(tb testing.TB) { testservices.Kafka(tb) },
		testservices.ConnectEnv:   func(tb testing.TB) { testservices.Connect(tb) },
	}
	for name, get := range missing {
		t.Run("fail_with_advice_when_"+name+"_is_missing", func(t *testing.T) {
			t.Setenv(name, "")
			got := fatalOf(get)
			if !strings.HasPrefix(got, name+" is not set") || !strings.Contains(got, "make test") {
				t.Errorf("fatal message = %q, want the variable and what to do", got)
			}
		})
	}

	t.Run("fail_when_the_list_of_brokers_is_empty", func(t *testing.T) {
		t.Setenv(testservices.KafkaEnv, " , ")
		got := fatalOf(missing[testservices.KafkaEnv])
		if !strings.Contains(got, "names no broker") {
			t.Errorf("fatal message = %q, want that no broker is named", got)
		}
	})
}

func TestName(t *testing.T) {
	t.Parallel()
	if a, b := testservices.Name("orders"), testservices.Name("orders"); a == b {
		t.Errorf("two names are equal: %q", a)
	}
	if got := testservices.Name(strings.Repeat("x", 100)); len(got) != 63 {
		t.Errorf("a long name has %d bytes, want 63", len(got))
	}
}
