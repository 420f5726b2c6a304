package standalonerelay_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/internal/testservices"
)

const patience = 60 * time.Second

// TestPrograms runs what the containers run, with the same files and variables, on real servers.
func TestPrograms(t *testing.T) {
	t.Parallel()
	t.Run("take_an_order_from_the_API_through_the_relay_to_its_shipment_and_stop_when_told_to", func(t *testing.T) {
		t.Parallel()
		programs := buildPrograms(t)
		services := read[compose](t, "compose.yaml").Services
		database, broker, topic := newSchema(t), testservices.AMQP(t), newTopic(t)

		api := start(t, programs, services["api"], map[string]string{
			"DATABASE_URL": database, "BROKER_URL": broker, "TOPIC": topic, "ADDR": "127.0.0.1:0",
		})
		shop := "http://" + api.await(`listens on http://(\S+)`)
		relay := start(t, programs, services["relay"], map[string]string{
			"DATABASE_URL": database, "AMQP_URL": broker, // what relay.yaml refers to
			"POSTROOM__TRANSPORTS__RABBITMQ__TOPICS": topic, "POSTROOM__HTTP__ADDRESS": "127.0.0.1:0",
		})
		probes := "http://" + relay.await(`served".*"address":"([^"]+)"`)

		var placed struct{ ID string }
		order := `{"customer":"c-1","items":[{"sku":"book","quantity":2,"unit_price_cents":1999}]}`
		if err := json.Unmarshal(post(t, shop+"/orders", order), &placed); err != nil || placed.ID == "" {
			t.Fatalf("placed order %q, %v", placed.ID, err)
		}
		awaitOK(t, shop+"/shipments/"+placed.ID)
		awaitOK(t, probes+"/readyz")
		relay.stop()
		api.stop()
	})
}

// buildPrograms returns the folder that holds the programs of this module that compose.yaml builds.
func buildPrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "./cmd/postroom", "./examples/orders-api")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// process is a program that runs, and what it has said.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	ended chan error

	mu   sync.Mutex
	said strings.Builder
}

// start runs a service's command, with its variables and with others in the place of what only containers have.
func start(t *testing.T, programs string, s service, env map[string]string) *process {
	t.Helper()
	args := make([]string, len(s.Command)-1)
	for i, arg := range s.Command[1:] {
		args[i] = strings.Replace(arg, "/etc/postroom/", "./", 1) // where relay.yaml is mounted
	}
	p := &process{t: t, ended: make(chan error, 1)}
	p.cmd = exec.Command(filepath.Join(programs, s.Command[0]), args...) //nolint:noctx // ended by stop
	p.cmd.Env = os.Environ()
	for _, variables := range []map[string]string{s.Env, env} {
		for name, value := range variables {
			p.cmd.Env = append(p.cmd.Env, name+"="+value)
		}
	}
	out, in := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = in, in
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.listen(out)
	go func() {
		err := p.cmd.Wait()
		in.CloseWithError(io.EOF)
		p.ended <- err
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

func (p *process) listen(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.mu.Lock()
		fmt.Fprintln(&p.said, lines.Text())
		p.mu.Unlock()
	}
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// await waits for a line, and returns its first group.
func (p *process) await(pattern string) string {
	p.t.Helper()
	line := regexp.MustCompile(pattern)
	eventually(p.t, func() string {
		if line.MatchString(p.output()) {
			return ""
		}
		return p.cmd.Path + " has not said " + pattern + ":\n" + p.output()
	})
	return line.FindStringSubmatch(p.output())[1]
}

// stop asks the program to end, as a platform does at a deploy.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-p.ended:
		if err != nil {
			p.t.Errorf("%s: %v\n%s", p.cmd.Path, err, p.output())
		}
	case <-time.After(patience):
		p.t.Fatalf("%s did not end:\n%s", p.cmd.Path, p.output())
	}
}

func post(t *testing.T, address, body string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("POST %s: %s, %v: %s", address, answer.Status, err, read)
	}
	return read
}

func awaitOK(t *testing.T, address string) {
	t.Helper()
	eventually(t, func() string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			return err.Error()
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return "GET " + address + ": " + answer.Status
		}
		return ""
	})
}

// eventually waits until check has no complaint.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for complaint := check(); complaint != ""; complaint = check() {
		select {
		case <-deadline:
			t.Fatal(complaint)
		case <-tick.C:
		}
	}
}

// newSchema makes a schema and returns the address at which it is the only one.
func newSchema(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(testservices.Postgres(t))
	if err != nil {
		t.Fatal("parse POSTGRES_URL: it is malformed")
	}
	admin, err := gorm.Open(postgres.Open(u.String()), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	schema := testservices.Name("standalone")
	if err := admin.Exec("CREATE SCHEMA " + schema).Error; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.Exec("DROP SCHEMA " + schema + " CASCADE").Error; err != nil {
			t.Error(err)
		}
		if pool, err := admin.DB(); err == nil {
			_ = pool.Close()
		}
	})
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

// newTopic returns a name for the exchange, which the API makes with its queue and which the test removes.
func newTopic(t *testing.T) string {
	t.Helper()
	topic := testservices.Name("standalone")
	t.Cleanup(func() {
		connection, err := amqp091.Dial(testservices.AMQP(t))
		if err != nil {
			t.Error(err)
			return
		}
		defer connection.Close()
		channel, err := connection.Channel()
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := channel.QueueDelete(topic+"-shipping", false, false, false); err != nil {
			t.Error(err)
		}
		if err := channel.ExchangeDelete(topic, false, false); err != nil {
			t.Error(err)
		}
	})
	return topic
}
