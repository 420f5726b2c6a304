package amqp_test

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/outbox"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	ok := []string{"amqp://user:secret@127.0.0.1:1/"}
	for name, c := range map[string]struct {
		config amqp.Config
		want   string
	}{
		"refuses_no_URLs":               {amqp.Config{}, "URLs"},
		"refuses_another_scheme":        {amqp.Config{URLs: []string{"http://user:secret@host"}}, "URLs[0]"},
		"refuses_a_URL_that_is_broken":  {amqp.Config{URLs: []string{ok[0], "amqp://user:secret@host:port#"}}, "URLs[1]"},
		"refuses_TLS_in_the_clear":      {amqp.Config{URLs: ok, TLS: &tls.Config{}}, "TLS"},
		"refuses_a_negative_window":     {amqp.Config{URLs: ok, Window: -1}, "Window"},
		"refuses_an_enormous_window":    {amqp.Config{URLs: ok, Window: 1 << 20}, "Window"},
		"refuses_a_negative_time":       {amqp.Config{URLs: ok, ConfirmTimeout: -1}, "ConfirmTimeout"},
		"refuses_a_heartbeat_below_1_s": {amqp.Config{URLs: ok, Heartbeat: time.Millisecond}, "Heartbeat"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := amqp.Open(c.config)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one about %s", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("error shows the password: %v", err)
			}
		})
	}

	t.Run("names_the_field_in_a_typed_error", func(t *testing.T) {
		t.Parallel()
		_, err := amqp.Open(amqp.Config{})
		field, ok := errors.AsType[*outbox.FieldError](err)
		if !ok || field.Field != "URLs" || field.Code != outbox.CodeMissing {
			t.Errorf("error is %#v, want a FieldError about URLs", err)
		}
	})

	t.Run("does_not_connect", func(t *testing.T) {
		t.Parallel()
		p, err := amqp.Open(amqp.Config{URLs: ok})
		must(t, err)
		must(t, p.Close())
		must(t, p.Close())
	})

	t.Run("shows_no_password_when_the_broker_is_away", func(t *testing.T) {
		t.Parallel()
		p := open(t, amqp.Config{URLs: append(ok, "amqps://user:secret@127.0.0.1:2/")})
		err := p.Publish(within(t, time.Minute), messages(1, "some", "placed"))[0].Err()
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("error is %v, want one line without the password", err)
		}
	})
}
