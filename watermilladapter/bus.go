package watermilladapter

import (
	"encoding/json"
	"strconv"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/postroom/postroom/outbox"
)

// EventBusConfig returns the configuration of a Watermill EventBus whose events become messages as registry says:
// topic, type, version, key, content type and body. Publish returns [outbox.ErrUnregistered] for others. Give it a
// publisher made by [NewPublisher] with the zero configuration.
func EventBusConfig(registry *outbox.Registry) cqrs.EventBusConfig {
	return cqrs.EventBusConfig{
		GeneratePublishTopic: func(p cqrs.GenerateEventPublishTopicParams) (string, error) {
			return topicOf(registry, p.Event)
		},
		Marshaler: NewMarshaler(registry),
	}
}

// CommandBusConfig is [EventBusConfig] for commands.
func CommandBusConfig(registry *outbox.Registry) cqrs.CommandBusConfig {
	return cqrs.CommandBusConfig{
		GeneratePublishTopic: func(p cqrs.CommandBusGeneratePublishTopicParams) (string, error) {
			return topicOf(registry, p.Command)
		},
		Marshaler: NewMarshaler(registry),
	}
}

func topicOf(registry *outbox.Registry, event any) (string, error) {
	d, err := registry.Describe(event)
	if err != nil {
		return "", err
	}
	return d.Topic, nil
}

// NewMarshaler returns what a Watermill event or command processor needs to find its handlers by the names of registry.
// It reads bodies as JSON.
func NewMarshaler(registry *outbox.Registry) cqrs.CommandEventMarshaler { return marshaler{registry} }

type marshaler struct{ registry *outbox.Registry }

// Marshal gives the message a UUID of its own, which a publisher of the outbox replaces where ids are given.
func (m marshaler) Marshal(event any) (*message.Message, error) {
	from, err := m.registry.Message(event)
	if err != nil {
		return nil, err
	}
	to := message.NewMessage(watermill.NewUUID(), from.Payload)
	to.Metadata.Set(metadataName, from.Type)
	to.Metadata.Set(outbox.HeaderVersion, strconv.Itoa(from.Version))
	to.Metadata.Set(outbox.HeaderContentType, from.ContentType)
	if from.Key != "" {
		to.Metadata.Set(defaultKeyMetadata, from.Key)
	}
	return to, nil
}

func (marshaler) Unmarshal(m *message.Message, event any) error {
	return json.Unmarshal(m.Payload, event)
}

// Name is empty for what is not registered, and no message has that name.
func (m marshaler) Name(event any) string {
	d, err := m.registry.Describe(event)
	if err != nil {
		return ""
	}
	return d.Type
}

func (marshaler) NameFromMessage(m *message.Message) string { return m.Metadata.Get(metadataName) }
