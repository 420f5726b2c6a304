package subject

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/servers"
)

// River as its authors tune it for throughput: many workers, hardly any pause between fetches.
const (
	riverWorkers  = 2_000
	riverCooldown = time.Millisecond
	riverStop     = 10 * time.Second
)

// riverJobs is a job queue whose jobs publish one message each. Its workers keep no order.
type riverJobs struct {
	Site
	pool   *pgxpool.Pool
	single single
	client *river.Client[pgx.Tx]
}

func openRiver(open func(Site) (single, error)) func(context.Context, Site) (Subject, error) {
	return func(ctx context.Context, site Site) (Subject, error) {
		pool, err := openPgxPool(ctx, site.Database)
		if err != nil {
			return nil, fmt.Errorf("open PostgreSQL: %w", err)
		}
		r := &riverJobs{Site: site, pool: pool}
		if r.single, err = open(site); err != nil {
			pool.Close()
			return nil, err
		}
		if err := r.migrate(ctx); err != nil {
			return nil, errors.Join(err, r.Close())
		}
		return r, nil
	}
}

// openPgxPool opens a pool as large as those of the other subjects.
func openPgxPool(ctx context.Context, address string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	config.MaxConns, config.MinConns = servers.Connections, servers.Connections
	return pgxpool.NewWithConfig(ctx, config)
}

func (r *riverJobs) migrate(ctx context.Context) error {
	driver := riverpgxv5.New(r.pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.Default()})
	if err != nil {
		return fmt.Errorf("read River's migrations: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate River: %w", err)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &publishWorker{to: r.single, progress: r.Progress})
	r.client, err = river.NewClient(driver, &river.Config{
		FetchCooldown:     riverCooldown,
		FetchPollInterval: riverCooldown,
		Logger:            slog.Default(),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}},
		Workers:           workers,
	})
	if err != nil {
		return fmt.Errorf("open River: %w", err)
	}
	return nil
}

func (r *riverJobs) Fill(ctx context.Context) error {
	for messages, err := range r.Load.Batches(fillBatch) {
		if err != nil {
			return err
		}
		jobs := make([]river.InsertManyParams, len(messages))
		for i, m := range messages {
			jobs[i].Args = publishArgs{ID: m.ID, Key: m.Key, Body: string(m.Body)}
		}
		if _, err := r.client.InsertManyFast(ctx, jobs); err != nil {
			return fmt.Errorf("insert jobs: %w", err)
		}
	}
	return nil
}

func (r *riverJobs) Drain(ctx context.Context) error {
	r.Progress.Begin()
	if err := r.client.Start(ctx); err != nil {
		return fmt.Errorf("start River: %w", err)
	}
	err := r.Progress.Wait(ctx, nil)
	if err == nil {
		err = r.settled(ctx)
	}
	r.Progress.End()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), riverStop)
	defer cancel()
	return errors.Join(err, r.client.StopAndCancel(stopping))
}

// riverOpen asks in the words of River's own index on state, so that asking costs next to nothing.
const riverOpen = `SELECT NOT EXISTS (
  SELECT FROM river_job WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled'))`

// settled waits until no job is left that is not completed.
func (r *riverJobs) settled(ctx context.Context) error {
	return until(ctx, func() (done bool, err error) {
		err = r.pool.QueryRow(ctx, riverOpen).Scan(&done)
		return done, err
	})
}

func (r *riverJobs) Close() error {
	err := r.single.Close()
	r.pool.Close()
	return err
}

// publishArgs is a message as a job.
type publishArgs struct {
	ID   uuid.UUID `json:"id"`
	Key  string    `json:"key"`
	Body string    `json:"body"`
}

// Kind names the job.
func (publishArgs) Kind() string { return eventType }

type publishWorker struct {
	river.WorkerDefaults[publishArgs]
	to       single
	progress *Progress
}

// Work publishes one message and waits for the broker's word.
func (w *publishWorker) Work(ctx context.Context, job *river.Job[publishArgs]) error {
	a := job.Args
	if err := w.to.SendOne(ctx, load.Message{ID: a.ID, Key: a.Key, Body: []byte(a.Body)}); err != nil {
		return err
	}
	w.progress.Add(1)
	return nil
}
