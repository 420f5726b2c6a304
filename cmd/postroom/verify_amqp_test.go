package main

import (
	"strings"
	"testing"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/internal/testservices"
)

// inRabbitMQ makes the shop's exchange and a queue of the given type behind it, and returns a publisher.
func (s *shop) inRabbitMQ(queue, kind string) *amqp.Publisher {
	s.Helper()
	url := testservices.AMQP(s)
	connection, err := amqp091.Dial(url)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = connection.Close() })
	channel, err := connection.Channel()
	if err != nil {
		s.Fatal(err)
	}
	if err := channel.ExchangeDeclare(s.topic, "topic", true, false, false, false, nil); err != nil {
		s.Fatal(err)
	}
	_, err = channel.QueueDeclare(queue, true, false, false, false, amqp091.Table{"x-queue-type": kind})
	if err != nil {
		s.Fatal(err)
	}
	if err := channel.QueueBind(queue, "#", s.topic, false, nil); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_, _ = channel.QueueDelete(queue, false, false, false)
		_ = channel.ExchangeDelete(s.topic, false, false)
	})
	p, err := amqp.Open(amqp.Config{URLs: []string{url}})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = p.Close() })
	return p
}

func TestVerify_amqp(t *testing.T) {
	t.Run("finds_nothing_where_all_is_well", func(t *testing.T) {
		s := newShop(t)
		p := s.inRabbitMQ(s.topic, "classic")
		s.enqueue(5, "earlier")
		s.relay(p)
		code, r := s.watching(func() {
			s.enqueue(20, "a", "b", "")
			s.relay(p)
		}, "--amqp=env")
		if code != 0 || !r.OK || r.Delivered != 60 || r.Duplicates != 0 {
			t.Errorf("exit %d, got %+v", code, r)
		}
	})
	t.Run("finds_what_is_lost_reordered_and_doubled", func(t *testing.T) {
		s := newShop(t)
		p := s.inRabbitMQ(s.topic, "classic")
		s.enqueue(1, "first") // so that there is an archive
		s.relay(p)
		s.expectFindings(s.watching(func() {
			s.enqueue(2, unreliableKeys...)
			s.relay(&unreliable{Publisher: p})
		}, "--amqp=env"))
	})
	t.Run("leaves_queues_and_their_messages_alone", func(t *testing.T) {
		s := newShop(t)
		p := s.inRabbitMQ(s.topic, "classic")
		_, _ = s.watching(func() { s.enqueue(3, "a"); s.relay(p) }, "--amqp=env")
		connection, err := amqp091.Dial(testservices.AMQP(t))
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		channel, err := connection.Channel()
		if err != nil {
			t.Fatal(err)
		}
		q, err := channel.QueueDeclarePassive(s.topic, true, false, false, false, amqp091.Table{"x-queue-type": "classic"})
		if err != nil || q.Messages != 3 {
			t.Errorf("got %+v, %v", q, err)
		}
	})
	t.Run("reads_a_stream_from_some_time_before", func(t *testing.T) {
		s := newShop(t)
		p := s.inRabbitMQ(s.topic, "stream")
		s.enqueue(2, unreliableKeys...)
		s.relay(&unreliable{Publisher: p})
		code, r := s.verify(t.Context(), "--amqp", testservices.AMQP(t), "--stream", s.topic)
		s.expectFindings(code, r)
	})
	t.Run("shows_no_password_when_it_cannot_connect", func(t *testing.T) {
		s := newShop(t)
		for _, url := range []string{
			"amqp://user:hunter2@127.0.0.1:1/", "amqp://user:hunter2@127.0.0.1:port/", "http://user:hunter2@127.0.0.1/",
		} {
			code, out, errs := call(t.Context(), "verify", "--database", testservices.Postgres(t), "--schema", s.schema,
				"--topic", s.topic, "--amqp", url)
			if code == 0 || strings.Contains(out+errs, "hunter2") {
				t.Errorf("%s: exit %d, printed %s, %s", url, code, out, errs)
			}
		}
	})
}
