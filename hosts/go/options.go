package redrive

import (
	"fmt"
	"log/slog"
	"time"
)

// Options of a queue. The zero value has the defaults.
type Options struct {
	// Policy of requests whose callers wait. Default: the preset "interactive".
	Policy Policy
	// Background is the policy of deferred requests. Default: the preset "background".
	Background Policy
	// Wait is how long a caller waits for the headers of an answer, attempts and pauses together, unless its context ends sooner or
	// [WithWait] says otherwise. Default: 30 s, and the time that the body takes at 50 KB/s.
	Wait time.Duration
	// Concurrency is the most retries and deferred requests in flight at a time, 1 to 10,000. Callers' own first attempts do not count.
	// Default: 6.
	Concurrency int
	// PerOrigin is the most of these to one origin, 1 to 10,000. Default: 3, or Concurrency where that is given.
	PerOrigin int
	// Capacity is the most requests that wait or are retried, 1 to 1,000,000. One that finds no room is not retried: its caller gets the
	// answer that there is. Default: 10,000.
	Capacity int
	// CapacityBytes is the most that their bodies have together. Default: 50 MiB.
	CapacityBytes int64
	// MaxLaneHold is the longest time for which an answer to one request (Retry-After, a rate limit) holds back the other retries to its
	// origin. Default: a minute; negative: none is held back.
	MaxLaneHold time.Duration
	// Service takes deferred requests, and the tasks of an [Outbox]. Default: none, so that deferred requests go on in memory.
	Service *Service
	// Logger hears of circuits that open and close, of retry storms, and of deferred requests that were given up. Default: [slog.Default].
	Logger *slog.Logger
}

// complete checks the options that the core does not, and fills in defaults.
func (o *Options) complete() error {
	whole := func(name string, value *int, most, standard int) error {
		if *value == 0 {
			*value = standard
		}
		if *value < 1 || *value > most {
			return &OptionError{"Options." + name, fmt.Sprintf("expected 1 to %d, got %d", most, *value)}
		}
		return nil
	}
	perOrigin := 3
	if o.Concurrency != 0 {
		perOrigin = o.Concurrency
	}
	for _, err := range []error{
		whole("Concurrency", &o.Concurrency, 10_000, 6),
		whole("PerOrigin", &o.PerOrigin, 10_000, perOrigin),
		whole("Capacity", &o.Capacity, 1_000_000, 10_000),
	} {
		if err != nil {
			return err
		}
	}
	if o.CapacityBytes < 0 {
		return &OptionError{"Options.CapacityBytes", fmt.Sprintf("expected a number of bytes, got %d", o.CapacityBytes)}
	}
	if o.Wait < 0 {
		return &OptionError{"Options.Wait", fmt.Sprintf("expected a positive duration, got %s", o.Wait)}
	}
	if o.CapacityBytes == 0 {
		o.CapacityBytes = 50 << 20
	}
	if o.MaxLaneHold == 0 {
		o.MaxLaneHold = time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Service != nil {
		return o.Service.check()
	}
	return nil
}
