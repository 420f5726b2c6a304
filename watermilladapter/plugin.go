package watermilladapter

import (
	"context"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Runner is a relay, or anything else that runs until its context ends.
type Runner interface {
	Run(ctx context.Context) error
}

// Plugin returns a router plugin that runs relay as one more handler: it starts with the router, and the router's
// Close, or the end of its context, waits until the relay has settled the batch in hand. Give the router a
// CloseTimeout above the relay's StopTimeout.
//
// An error of the relay closes the router. Router.Run cannot return that error, so failed gets it; nil ignores it.
func Plugin(relay Runner, failed func(error)) message.RouterPlugin {
	return func(router *message.Router) error {
		source := &relaySource{relay: relay, router: router, failed: failed}
		router.AddConsumerHandler(handlerName(router), "outbox", source, ignore)
		return nil
	}
}

func ignore(*message.Message) error { return nil }

// handlerName returns a name that no handler of the router has, so that a router can run several relays.
func handlerName(router *message.Router) string {
	const name = "outbox-relay"
	handlers := router.Handlers()
	if _, taken := handlers[name]; !taken {
		return name
	}
	for n := 2; ; n++ {
		numbered := name + "-" + strconv.Itoa(n)
		if _, taken := handlers[numbered]; !taken {
			return numbered
		}
	}
}

// relaySource is a subscriber without messages whose subscription lasts as long as the relay runs. A router waits for
// its subscriptions and not for goroutines that a plugin starts, and without any handler it ignores its context.
type relaySource struct {
	relay  Runner
	router *message.Router
	failed func(error)
	stop   context.CancelFunc // of the subscription
}

func (s *relaySource) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	ctx, s.stop = context.WithCancel(ctx)
	messages := make(chan *message.Message)
	go s.run(ctx, messages)
	return messages, nil
}

// run reports an error and ends the subscription before it closes the router, which waits for subscriptions to end.
func (s *relaySource) run(ctx context.Context, messages chan *message.Message) {
	defer s.stop()
	err := s.relay.Run(ctx)
	if err != nil && s.failed != nil {
		s.failed(err)
	}
	close(messages)
	if err == nil {
		return
	}
	if err := s.router.Close(); err != nil {
		s.router.Logger().Error("Cannot close the router after the relay has failed", err, nil)
	}
}

// Close tells the relay to end. The router calls it after Subscribe, and then waits for the end of the subscription.
func (s *relaySource) Close() error {
	s.stop()
	return nil
}
