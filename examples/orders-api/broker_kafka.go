package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
	watermillkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/kafka"
)

const (
	partitions     = 4
	connectTimeout = 30 * time.Second
)

// openOwnKafka starts a Kafka inside the process. It keeps nothing.
func openOwnKafka(ctx context.Context, c config) (*broker, error) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return nil, fmt.Errorf("start a Kafka in the process: %w", err)
	}
	b, err := openKafka(ctx, c, cluster.ListenAddrs())
	if err != nil {
		cluster.Close()
		return nil, err
	}
	b.name = "in-process Kafka"
	b.closers = append(b.closers, func() error {
		cluster.Close()
		return nil
	})
	return b, nil
}

func openKafka(ctx context.Context, c config, brokers []string) (_ *broker, err error) {
	b := &broker{name: "Kafka"}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open Kafka: %w", err), b.close())
		}
	}()
	if err := createTopic(ctx, brokers, c.topic); err != nil {
		return nil, err
	}
	if c.relay {
		publisher, err := kafka.Open(kafka.Config{Brokers: brokers})
		if err != nil {
			return nil, err
		}
		b.publisher = publisher
		b.onClose(publisher.Close)
	}
	if c.api {
		subscriber, err := watermillkafka.NewSubscriber(subscriberConfig(brokers, c.consumer()), watermillLogger())
		if err != nil {
			return nil, err
		}
		b.subscriber = subscriber
		b.onClose(subscriber.Close)
	}
	return b, nil
}

// createTopic creates the topic unless it is there.
func createTopic(ctx context.Context, brokers []string, topic string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	const brokersDefault = -1 // replicas
	_, err = kadm.NewClient(client).CreateTopic(ctx, partitions, brokersDefault, nil, topic)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	return nil
}

// subscriberConfig reads what was published before the group's first meeting too.
func subscriberConfig(brokers []string, group string) watermillkafka.SubscriberConfig {
	client := watermillkafka.DefaultSaramaSubscriberConfig()
	client.Consumer.Offsets.Initial = sarama.OffsetOldest
	return watermillkafka.SubscriberConfig{
		Brokers:               brokers,
		ConsumerGroup:         group,
		Unmarshaler:           watermillkafka.DefaultMarshaler{},
		OverwriteSaramaConfig: client,
	}
}
