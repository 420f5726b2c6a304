package relayconf

import (
	"crypto/tls"
	"errors"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/postroom/postroom/kafka"
)

var mechanisms = map[string]func(user, password string) sasl.Mechanism{
	"plain": func(user, password string) sasl.Mechanism {
		return plain.Auth{User: user, Pass: password}.AsMechanism()
	},
	"scram-sha-256": func(user, password string) sasl.Mechanism {
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	},
	"scram-sha-512": func(user, password string) sasl.Mechanism {
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	},
}

var codecs = map[string]func() kgo.CompressionCodec{
	"none": kgo.NoCompression, "gzip": kgo.GzipCompression, "snappy": kgo.SnappyCompression,
	"lz4": kgo.Lz4Compression, "zstd": kgo.ZstdCompression,
}

func (k Kafka) open(log *slog.Logger) (*kafka.Publisher, error) {
	c := kafka.Config{
		Brokers: k.Brokers, ClientID: k.ClientID, CloudEvents: k.CloudEvents.config(),
		MaxMessageBytes: int(k.MaxMessageBytes), DeliveryTimeout: k.DeliveryTimeout,
		RequestTimeout: k.RequestTimeout, NetworkTimeout: k.NetworkTimeout, Logger: log,
	}
	var err error
	if c.TLS, c.SASL, err = k.security(); err != nil {
		return nil, err
	}
	for _, name := range k.Compression {
		c.Compression = append(c.Compression, codecs[name]())
	}
	return kafka.Open(c)
}

// Reading are the options of a client that reads from the brokers.
func (k Kafka) Reading() ([]kgo.Opt, error) {
	encryption, logins, err := k.security()
	if err != nil {
		return nil, err
	}
	options := []kgo.Opt{kgo.SeedBrokers(k.Brokers...)}
	if encryption != nil {
		options = append(options, kgo.DialTLSConfig(encryption))
	}
	if len(logins) > 0 {
		options = append(options, kgo.SASL(logins...))
	}
	return options, nil
}

// security says how clients encrypt, if they do, and how they log in.
func (k Kafka) security() (encryption *tls.Config, logins []sasl.Mechanism, err error) {
	if k.TLS.Enabled {
		if encryption, err = k.TLS.config(); err != nil {
			return nil, nil, err
		}
	} else if k.TLS.TLS != (TLS{}) {
		return nil, nil, errors.New("kafka.tls.enabled is false, so the rest of kafka.tls would be ignored: set it")
	}
	if k.SASL.Mechanism != "" {
		logins = []sasl.Mechanism{mechanisms[k.SASL.Mechanism](k.SASL.User, string(k.SASL.Password))}
	} else if k.SASL != (SASL{}) {
		return nil, nil, errors.New("kafka.sasl.mechanism is missing: choose one")
	}
	return encryption, logins, nil
}
