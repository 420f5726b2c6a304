package subject

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// connector is one in Kafka Connect, by its REST interface.
type connector struct{ url string }

func newConnector(connect, name string) connector { return connector{connect + "/connectors/" + name} }

func (c connector) create(ctx context.Context, settings map[string]string) error {
	body, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	_, err = c.call(ctx, http.MethodPut, "/config", body, http.StatusCreated)
	return err
}

func (c connector) change(ctx context.Context, path string) error {
	_, err := c.call(ctx, http.MethodPut, path, nil, http.StatusAccepted, http.StatusNoContent)
	return err
}

func (c connector) remove(ctx context.Context) error {
	_, err := c.call(ctx, http.MethodDelete, "", nil, http.StatusNoContent, http.StatusNotFound)
	return err
}

// failure is why its task has ended.
func (c connector) failure(ctx context.Context) error {
	answer, err := c.call(ctx, http.MethodGet, "/status", nil, http.StatusOK, http.StatusNotFound)
	if err != nil {
		return err
	}
	var status struct {
		Tasks []struct{ State, Trace string }
	}
	if err := json.Unmarshal(answer, &status); err != nil {
		return fmt.Errorf("read the status of the connector: %w", err)
	}
	for _, task := range status.Tasks {
		if task.State == "FAILED" {
			return fmt.Errorf("the connector has failed: %s", task.Trace)
		}
	}
	return nil
}

func (c connector) call(ctx context.Context, method, path string, body []byte, wanted ...int) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask Kafka Connect: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("ask Kafka Connect: %w", err)
	}
	if !slices.Contains(wanted, response.StatusCode) {
		return nil, fmt.Errorf("%s %s of Kafka Connect: status %d: %s", method, path, response.StatusCode, answer)
	}
	return answer, nil
}
