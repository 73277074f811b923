package redrive

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Policy says when to try again, and for how long. The zero value of a field leaves it to the preset; the core checks every field, and
// [New] gives an [*OptionError] for a wrong one. Durations are whole milliseconds. docs/backoff.md has the curves.
type Policy struct {
	// Preset is the policy that the fields below change: "interactive" (12 attempts, from 500 ms to 8 s, full jitter), "background" (from 1 s to
	// 10 min, for a day), "aws", "grpc", "svix", "sidekiq" or "zizq". Default: "interactive" for Options.Policy, and "background" for
	// Options.Background.
	Preset string
	// Strategy is the curve of the waits: "exponential", "linear", "fixed", "polynomial", "sidekiq", "buckets", "padded_exponential",
	// "spread" or "table", which takes Delays.
	Strategy string
	// Jitter is the random part of exponential, linear and fixed waits: "NONE", "FULL", "EQUAL", "DECORRELATED", "ADDITIVE",
	// "PROPORTIONAL" or "DECORRELATED_CLAMPED".
	Jitter string
	// MaxAttempts in total, the first included: 1 to 1,000,000. 1 turns retrying off.
	MaxAttempts int
	// InitialDelay is the first wait, before jitter.
	InitialDelay time.Duration
	// Multiplier of exponential and spread waits: 1, or 1.01 to 100.
	Multiplier float64
	// MaxDelay is the longest wait of the curve.
	MaxDelay time.Duration
	// Delays are the waits of "table", the last one repeated: 1 to 1,000 of them.
	Delays []time.Duration
	// TotalBudget: no attempt is made that could not end within it. Default: KeyTTL, and at most that.
	TotalBudget time.Duration
	// AttemptTimeout is the time limit of one attempt, up to the headers of its answer. Negative: none. Default: 10 s, and the time that
	// the body takes at 50 KB/s; while a server answers no call at all, first attempts stay longer, up to the caller's wait, and
	// an attempt that follows one without an answer has twice as long.
	AttemptTimeout time.Duration
	// MaxRetryAfter is the longest wait that a server may ask for. Default: a day.
	MaxRetryAfter time.Duration
	// KeyTTL is how long the server remembers an idempotency key, from the first attempt. Default: a day.
	KeyTTL time.Duration
	// StatusCodes that are tried again, 200 to 599. Default: 408, 429, 502, 503 and 504.
	StatusCodes []int
	// NoNetworkErrors: a lost connection is not tried again.
	NoNetworkErrors bool
	// NoTimeouts: an attempt without an answer in time is not tried again.
	NoTimeouts bool
}

const (
	// attemptMs is the time limit of an attempt that its policy leaves open, beside that of its body.
	attemptMs = 10_000
	// bytesPerMs are 50 KB/s: a slow line.
	bytesPerMs = 50
)

// bodyMs is the time that a body of so many bytes is given to arrive.
func bodyMs(bytes int64) float64 { return float64(bytes / bytesPerMs) }

// heldPolicy is a policy in the core, with what the host itself goes by.
type heldPolicy struct {
	handle float64
	// statuses below 400 that count as failures.
	listed []int
	// timeoutMs of an attempt; notGiven: the default, Infinity: none.
	timeoutMs float64
}

// isFailure is whether a status is one under this policy, as far as it decides which headers of an answer are read.
func (p *heldPolicy) isFailure(status int) bool {
	return status >= 400 || slices.Contains(p.listed, status)
}

// attemptLimitMs is the time limit of an attempt whose body has so many bytes.
func (p *heldPolicy) attemptLimitMs(bytes int64) float64 {
	if math.IsNaN(p.timeoutMs) {
		return attemptMs + bodyMs(bytes)
	}
	return p.timeoutMs
}

// goNames replaces the core's names of the fields of a [Policy].
var goNames = strings.NewReplacer(
	"maxAttempts", "MaxAttempts", "multiplier", "Multiplier", "initialDelayMs", "InitialDelay", "maxDelayMs", "MaxDelay",
	"totalBudgetMs", "TotalBudget", "maxRetryAfterMs", "MaxRetryAfter", "keyTtlMs", "KeyTTL", "attemptTimeoutMs", "AttemptTimeout",
	"delaysMs", "Delays", "retryableStatusCodes", "StatusCodes",
)

// hold has the core check and keep the policy. place is the option that it stands in.
func (p Policy) hold(c *core, place, preset string) (heldPolicy, error) {
	row, err := p.row(c, place, preset)
	if err != nil {
		return heldPolicy{}, err
	}
	answer := c.ask(opPolicy, row...)
	if answer[0] == none {
		option, reason, _ := strings.Cut(goNames.Replace(c.readText(answer[1])), ": ")
		return heldPolicy{}, &OptionError{place + "." + option, reason}
	}
	held := heldPolicy{handle: answer[0], timeoutMs: row[fieldOf("attemptTimeoutMs")]}
	if held.timeoutMs == 0 {
		held.timeoutMs = never
	}
	_, statuses := listsOf(row)
	for _, status := range statuses {
		if status < 400 {
			held.listed = append(held.listed, int(status))
		}
	}
	return held, nil
}

// row is the policy as numbers, as they cross: those of its fields, the lengths of two lists, the lists.
func (p Policy) row(c *core, place, preset string) ([]float64, error) {
	if p.Preset != "" {
		preset = p.Preset
	}
	number, err := numberOf(presets, preset, place+".Preset")
	if err != nil {
		return nil, err
	}
	row := slices.Clone(c.ask(opPreset, number))
	put := func(field string, value float64, isGiven bool) {
		if isGiven {
			row[fieldOf(field)] = value
		}
	}
	duration := func(field string, d time.Duration) { put(field, milliseconds(d), d != 0) }
	for _, named := range []struct {
		field, name, option string
		names               []string
	}{{"strategy", p.Strategy, ".Strategy", strategies}, {"jitterType", p.Jitter, ".Jitter", jitters}} {
		if named.name != "" {
			number, err := numberOf(named.names, named.name, place+named.option)
			if err != nil {
				return nil, err
			}
			put(named.field, number, true)
		}
	}
	put("maxAttempts", float64(p.MaxAttempts), p.MaxAttempts != 0)
	put("multiplier", p.Multiplier, p.Multiplier != 0)
	put("retryNetworkErrors", 0, p.NoNetworkErrors)
	put("retryTimeouts", 0, p.NoTimeouts)
	duration("initialDelayMs", p.InitialDelay)
	duration("maxDelayMs", p.MaxDelay)
	duration("totalBudgetMs", p.TotalBudget)
	duration("maxRetryAfterMs", p.MaxRetryAfter)
	duration("keyTtlMs", p.KeyTTL)
	duration("attemptTimeoutMs", max(p.AttemptTimeout, 0))
	put("attemptTimeoutMs", 0, p.AttemptTimeout < 0)
	delays, statuses := listsOf(row)
	if p.Delays != nil {
		delays = mapped(p.Delays, milliseconds)
	}
	if p.StatusCodes != nil {
		statuses = mapped(p.StatusCodes, func(code int) float64 { return float64(code) })
	}
	row = row[:len(policyFields)]
	row = append(row, lengthOf(delays), lengthOf(statuses))
	return append(append(row, delays...), statuses...), nil
}

func fieldOf(name string) int { return slices.Index(policyFields, name) }

// listsOf are the delays and the statuses of a row; nil: none are given.
func listsOf(row []float64) (delays, statuses []float64) {
	lengths, lists := row[len(policyFields):], row[len(policyFields)+2:]
	if !math.IsNaN(lengths[0]) {
		delays, lists = slices.Clone(lists[:int(lengths[0])]), lists[int(lengths[0]):]
	}
	if !math.IsNaN(lengths[1]) {
		statuses = slices.Clone(lists[:int(lengths[1])])
	}
	return delays, statuses
}

func lengthOf(list []float64) float64 {
	if list == nil {
		return notGiven
	}
	return float64(len(list))
}

func mapped[T any](list []T, number func(T) float64) []float64 {
	numbers := make([]float64, len(list))
	for i, item := range list {
		numbers[i] = number(item)
	}
	return numbers
}

// milliseconds may have a fraction, which the core refuses.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func numberOf(names []string, name, option string) (float64, error) {
	number := slices.Index(names, name)
	if number < 0 {
		return 0, &OptionError{option, fmt.Sprintf("expected one of %s, got %q", strings.Join(names, ", "), name)}
	}
	return float64(number), nil
}
