//go:build soak

package debezium

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/postroom/postroom/internal/testservices"
)

// connector is one in Kafka Connect, by its REST interface.
type connector struct {
	testing.TB
	url string
}

// startConnector makes a connector, which is removed with the test, and waits until it runs.
func startConnector(t testing.TB, name string, config map[string]string) connector {
	t.Helper()
	c := connector{t, testservices.Connect(t) + "/connectors/" + name}
	body, err := json.Marshal(config)
	must(t, err)
	t.Cleanup(c.remove)
	if code, answer := c.call(http.MethodPut, "/config", body); code != http.StatusCreated {
		t.Fatalf("make the connector: status %d: %s", code, answer)
	}
	eventually(t, c.trouble)
	return c
}

// trouble is what keeps the connector from running.
func (c connector) trouble() string {
	c.Helper()
	code, answer := c.call(http.MethodGet, "/status", nil)
	var status struct {
		Tasks []struct{ State, Trace string }
	}
	if code != http.StatusOK {
		return fmt.Sprintf("status %d of the connector: %s", code, answer)
	}
	must(c, json.Unmarshal(answer, &status))
	if len(status.Tasks) != 1 {
		return fmt.Sprintf("the connector has %d tasks", len(status.Tasks))
	}
	task := status.Tasks[0]
	if task.State == "FAILED" {
		c.Fatalf("the connector has failed: %s", task.Trace)
	}
	if task.State != "RUNNING" {
		return "the connector is " + task.State
	}
	return ""
}

// stop ends the connector's task and keeps its offsets.
func (c connector) stop() { c.Helper(); c.change("/stop") }

func (c connector) resume() { c.Helper(); c.change("/resume") }

func (c connector) change(path string) {
	c.Helper()
	if code, answer := c.call(http.MethodPut, path, nil); code != http.StatusAccepted && code != http.StatusNoContent {
		c.Fatalf("%s the connector: status %d: %s", path[1:], code, answer)
	}
}

// remove is part of every end, also where there is no connector any more.
func (c connector) remove() {
	c.Helper()
	if code, answer := c.call(http.MethodDelete, "", nil); code != http.StatusNoContent && code != http.StatusNotFound {
		c.Errorf("remove the connector: status %d: %s", code, answer)
	}
}

func (c connector) call(method, path string, body []byte) (code int, answer []byte) {
	c.Helper()
	request, err := http.NewRequestWithContext(within(c), method, c.url+path, bytes.NewReader(body))
	must(c, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	must(c, err)
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	must(c, err)
	return response.StatusCode, answer
}
