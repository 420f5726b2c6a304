package subject

import (
	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	watermillamqp "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	watermillkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
)

// newWatermill opens one of Watermill's publishers.
type newWatermill func(site Site, logger watermill.LoggerAdapter) (message.Publisher, error)

// watermillKafka is made as durable as the other subjects, and partitions by key; the rest is its default.
func watermillKafka(site Site, logger watermill.LoggerAdapter) (message.Publisher, error) {
	durable := watermillkafka.DefaultSaramaSyncPublisherConfig()
	durable.Version = sarama.V2_1_0_0
	durable.Producer.RequiredAcks = sarama.WaitForAll
	durable.Producer.Idempotent = true
	durable.Net.MaxOpenRequests = 1 // what idempotence requires
	byKey := watermillkafka.NewWithPartitioningMarshaler(func(_ string, m *message.Message) (string, error) {
		return m.Metadata.Get(keyMetadata), nil
	})
	return watermillkafka.NewPublisher(watermillkafka.PublisherConfig{
		Brokers: site.Kafka, Marshaler: byKey, OverwriteSaramaConfig: durable,
	}, logger)
}

// watermillAMQP is the durable configuration with confirms and mandatory messages. Its channels are kept, where the
// default opens one for each message.
func watermillAMQP(site Site, logger watermill.LoggerAdapter) (message.Publisher, error) {
	durable := watermillamqp.NewDurablePubSubConfig(site.AMQP, nil)
	durable.Publish.ConfirmDelivery = true
	durable.Publish.Mandatory = true
	durable.Publish.ChannelPoolSize = Workers
	return watermillamqp.NewPublisher(durable, logger)
}
