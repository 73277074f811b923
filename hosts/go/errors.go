package redrive

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrCircuitOpen: the request was not sent, since the circuit of its origin is open for longer than its caller waits. The error is a
	// [*CircuitOpenError].
	ErrCircuitOpen = errors.New("the circuit is open")

	// ErrQueueFull: the circuit of the request's origin is open, and the queue has no room for one more waiting caller. The error is a
	// [*CircuitOpenError].
	ErrQueueFull = errors.New("the queue is full")

	// ErrClosed: the queue is closed. Make a new one.
	ErrClosed = errors.New("redrive: the queue is closed; make a new one with New")

	// ErrBodyDropped: the body of a failed answer was not read to its end, since its caller waited for another attempt meanwhile. It is
	// what a read gives beyond the first 64 KiB, or beyond those bytes that came within 250 ms. Status and headers are whole.
	ErrBodyDropped = errors.New("redrive: the rest of this answer's body was dropped while its request waited for another attempt")

	// ErrNotStorable: a request cannot be stored, because it carries a credential or cannot be sent. The error is a [*NotStorableError].
	ErrNotStorable = errors.New("the request cannot be stored")

	// ErrNoService: the queue was made without [Options].Service.
	ErrNoService = errors.New("redrive: Options.Service is missing; give the address of a `redrive serve`")
)

// OptionError is a wrong option. Nothing was sent.
type OptionError struct {
	// Option is the name of the option, such as "Options.Concurrency" or "Options.Policy.MaxAttempts".
	Option string
	// Reason says what was expected, and what was given.
	Reason string
}

func (e *OptionError) Error() string { return "redrive: " + e.Option + ": " + e.Reason }

// CircuitOpenError is a request that was not sent, since its server fails and the circuit of its origin is open.
type CircuitOpenError struct {
	// Method and Origin are those of the request.
	Method, Origin string
	// Until is when the circuit lets the next request through; the zero time: another request is trying the server out now.
	Until time.Time
	// IsFull: the request could have waited, but the queue has no room.
	IsFull bool
}

func (e *CircuitOpenError) Error() string {
	next := "another request is trying it out now"
	if !e.Until.IsZero() {
		next = "no request is sent until " + e.Until.Format(time.RFC3339Nano)
	}
	remedy := "give it a longer wait with WithWait or Options.Wait, or set Transport.Defer"
	if e.IsFull {
		remedy = "the queue is full: raise Options.Capacity"
	}
	return fmt.Sprintf("redrive: %s %s was not sent: its circuit is open, and %s; %s", e.Method, e.Origin, next, remedy)
}

// Is is true of [ErrCircuitOpen], and of [ErrQueueFull] where the queue is full.
func (e *CircuitOpenError) Is(target error) bool {
	return target == ErrCircuitOpen || (e.IsFull && target == ErrQueueFull)
}

// AttemptTimeoutError is an attempt without an answer within its time limit. It is a [context.DeadlineExceeded], and a [net.Error] that
// timed out.
type AttemptTimeoutError struct {
	// Number of the attempt; the first is 1.
	Number int
	// Limit is the time that it was given.
	Limit time.Duration
}

func (e *AttemptTimeoutError) Error() string {
	return fmt.Sprintf("redrive: attempt %d had no answer within %s: the policy's AttemptTimeout, or what was left of the caller's wait", e.Number, e.Limit)
}

// Is is true of [context.DeadlineExceeded].
func (e *AttemptTimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout is true.
func (e *AttemptTimeoutError) Timeout() bool { return true }

// Temporary is true.
func (e *AttemptTimeoutError) Temporary() bool { return true }

// NotStorableError is a request that may not be stored. Nothing of it was stored.
type NotStorableError struct {
	// What is the part of the request: "URL", "Host", "Key", or "header authorization".
	What string
	// Reason says why, and what to do.
	Reason string
}

func (e *NotStorableError) Error() string { return "redrive: " + e.What + ": " + e.Reason }

// Is is true of [ErrNotStorable].
func (e *NotStorableError) Is(target error) bool { return target == ErrNotStorable }

// ServiceError is an answer of the service that is no receipt.
type ServiceError struct {
	// Status of the answer.
	Status int
	// Type is that of its problem (RFC 9457), without "urn:redrive:problem:": "idempotency-conflict", "queue-full".
	Type string
	// Detail says what happened and what to do.
	Detail string
}

func (e *ServiceError) Error() string {
	return fmt.Sprintf("redrive: the service answered %d %s: %s", e.Status, e.Type, e.Detail)
}

// IsFinal: the same task will never be taken as it is, so that sending it again is of no use.
func (e *ServiceError) IsFinal() bool { return e.Status == 400 || e.Status == 413 || e.Status == 422 }
