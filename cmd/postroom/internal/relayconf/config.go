package relayconf

import "time"

// Config is the configuration of a relay process. Keys are the yaml tags, defaults the tags beside them; docs/relay.md
// says what each is for.
type Config struct {
	Database Database `yaml:"database"`

	// DefaultTransport serves messages that name none.
	DefaultTransport string                `yaml:"default_transport"`
	Transports       map[string]*Transport `yaml:"transports"`

	Relay   Relay   `yaml:"relay"`
	Archive Archive `yaml:"archive"`
	Log     Log     `yaml:"log"`
	HTTP    HTTP    `yaml:"http"`
	Health  Health  `yaml:"health"`
}

// Database is where the outbox is.
type Database struct {
	URL            URL    `yaml:"url"`
	Password       Secret `yaml:"password"`
	Schema         string `yaml:"schema"`
	Name           string `yaml:"name" default:"outbox"`
	MaxConnections int    `yaml:"max_connections"`
	// Control is a small pool for renewals and announcements, which should pass no pooler.
	Control Control `yaml:"control"`
}

// Control is a pool beside the database's own.
type Control struct {
	URL            URL    `yaml:"url"`
	Password       Secret `yaml:"password"`
	MaxConnections int    `yaml:"max_connections" default:"2"`
}

// Transport is one way to a broker, with exactly one of Kafka and AMQP.
type Transport struct {
	// Topics are looked at before the relay starts.
	Topics List[string] `yaml:"topics"`
	Kafka  *Kafka       `yaml:"kafka,omitempty"`
	AMQP   *AMQP        `yaml:"amqp,omitempty"`
}

// Kafka is kafka.Config.
type Kafka struct {
	Brokers         List[string]  `yaml:"brokers"`
	ClientID        string        `yaml:"client_id" default:"postroom"`
	TLS             KafkaTLS      `yaml:"tls"`
	SASL            SASL          `yaml:"sasl"`
	Compression     List[string]  `yaml:"compression" default:"snappy,none"`
	CloudEvents     CloudEvents   `yaml:"cloudevents"`
	MaxMessageBytes Bytes         `yaml:"max_message_bytes" default:"1000012"`
	DeliveryTimeout time.Duration `yaml:"delivery_timeout" default:"10s"`
	RequestTimeout  time.Duration `yaml:"request_timeout" default:"5s"`
	NetworkTimeout  time.Duration `yaml:"network_timeout" default:"2s"`
}

// SASL is how a client of Kafka logs in.
type SASL struct {
	Mechanism string `yaml:"mechanism"`
	User      string `yaml:"user"`
	Password  Secret `yaml:"password"`
}

// AMQP is amqp.Config.
type AMQP struct {
	URLs           List[URL]     `yaml:"urls"`
	Password       Secret        `yaml:"password"`
	TLS            TLS           `yaml:"tls"`
	Route          string        `yaml:"route" default:"exchange"`
	CloudEvents    CloudEvents   `yaml:"cloudevents"`
	TrustQueues    bool          `yaml:"trust_queues" default:"false"`
	Window         int           `yaml:"window" default:"500"`
	ConfirmTimeout time.Duration `yaml:"confirm_timeout" default:"30s"`
	WriteTimeout   time.Duration `yaml:"write_timeout" default:"10s"`
	DialTimeout    time.Duration `yaml:"dial_timeout" default:"5s"`
	Heartbeat      time.Duration `yaml:"heartbeat" default:"10s"`
	Management     URL           `yaml:"management"`
}

// KafkaTLS is TLS where the address does not tell whether there is any.
type KafkaTLS struct {
	Enabled bool `yaml:"enabled" default:"false"`
	TLS     `yaml:",inline"`
}

// TLS is what a connection to a broker trusts and shows: files of PEM.
type TLS struct {
	CA         string `yaml:"ca_file"`
	Cert       string `yaml:"cert_file"`
	Key        string `yaml:"key_file"`
	ServerName string `yaml:"server_name"`
}

// CloudEvents is cloudevents.Config.
type CloudEvents struct {
	Mode   string `yaml:"mode" default:"off"`
	Source string `yaml:"source"`
	Prefix string `yaml:"prefix"`
}

// Relay is outbox.RelayConfig.
type Relay struct {
	ID          string                 `yaml:"id"`
	Workers     int                    `yaml:"workers" default:"4"`
	Batch       int                    `yaml:"batch" default:"500"`
	BatchBytes  Bytes                  `yaml:"batch_bytes" default:"8MiB"`
	Lease       time.Duration          `yaml:"lease" default:"15s"`
	Renew       time.Duration          `yaml:"renew"`
	Poll        time.Duration          `yaml:"poll" default:"1s"`
	Mode        string                 `yaml:"mode" default:"ordered"`
	MaxCrashes  int                    `yaml:"max_crashes" default:"3"`
	StopTimeout time.Duration          `yaml:"stop_timeout" default:"10s"`
	Policy      Policy                 `yaml:"policy"`
	Topics      map[string]TopicPolicy `yaml:"topics"`
}

// Policy is outbox.Policy.
type Policy struct {
	MaxAttempts  int           `yaml:"max_attempts" default:"10"`
	MaxHandovers int           `yaml:"max_handovers" default:"0"`
	MinBackoff   time.Duration `yaml:"min_backoff" default:"250ms"`
	MaxBackoff   time.Duration `yaml:"max_backoff" default:"5m"`
	OnExhausted  string        `yaml:"on_exhausted" default:"park"`
}

// TopicPolicy is a Policy whose zero fields inherit.
type TopicPolicy struct {
	MaxAttempts  int           `yaml:"max_attempts,omitempty"`
	MaxHandovers int           `yaml:"max_handovers,omitempty"`
	MinBackoff   time.Duration `yaml:"min_backoff,omitempty"`
	MaxBackoff   time.Duration `yaml:"max_backoff,omitempty"`
	OnExhausted  string        `yaml:"on_exhausted,omitempty"`
}

// Archive is what becomes of delivered messages.
type Archive struct {
	// Retention is how long they are kept; 0 deletes them.
	Retention time.Duration `yaml:"retention" default:"0s"`
}

// Log is what the process writes to its standard error.
type Log struct {
	Level  string `yaml:"level" default:"info"`
	Format string `yaml:"format" default:"json"`
}

// HTTP is where health and metrics are served.
type HTTP struct {
	// Address is host:port; empty serves nothing.
	Address string `yaml:"address"`
}

// Health is health.Config: what is still well.
type Health struct {
	MaxAge     time.Duration `yaml:"max_age" default:"5m"`
	MaxBacklog int           `yaml:"max_backlog" default:"0"`
	MaxParked  int           `yaml:"max_parked" default:"0"`
	StuckAfter time.Duration `yaml:"stuck_after" default:"2m"`
}
