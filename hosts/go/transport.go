package redrive

import (
	"context"
	"net/http"
	"time"
)

// Transport is an [http.RoundTripper] that sends a request again when it failed for a passing reason:
//
//	client := &http.Client{Transport: &redrive.Transport{Queue: queue}}
//
// It waits within the caller's context and its wait. When no attempt follows any more, the caller gets the last answer or error, as without
// redrive. A request whose body cannot be had again is sent once: [http.NewRequest] sets GetBody for bytes and strings, and for other
// bodies the caller may set it. POST, PUT, PATCH and DELETE get a random Idempotency-Key, the same in every attempt, unless they have one.
//
// Spans: Base makes one for each attempt where it is otelhttp.NewTransport, and otelhttp.NewTransport around the Transport makes one for the
// whole call. [Attempt] gives the number of an attempt.
type Transport struct {
	// Queue decides. Required.
	Queue *Queue
	// Base sends each attempt. Default: [http.DefaultTransport].
	Base http.RoundTripper
	// Defer answers 202 Accepted as soon as the first attempt has failed for a passing reason, and at once while the circuit of the origin
	// is not closed. The request goes on without its caller: through Options.Service where there is one, else in memory, where it ends
	// with the process, and follows redirects within its origin. The answer has the headers redrive-trace-id, redrive-task-id and
	// redrive-durability, and a JSON body with the same. With a service a call is sent first where it is to show whether its server is back.
	//
	// A request that cannot be kept gets the answer of its first attempt; where none was made it waits for one, as without Defer. A service
	// takes no credential and no Request.Host of its own, and has 2 s, and the time of the body, to take a request.
	Defer bool
}

// RoundTrip sends a request, and again where it failed for a passing reason. Beside the errors of Base it gives [*CircuitOpenError],
// [*AttemptTimeoutError], [*OptionError] and [ErrClosed].
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if t.Queue == nil {
		closeBody(request)
		return nil, &OptionError{"Transport.Queue", "expected a queue of redrive.New, got nil"}
	}
	if !isSendable(request) {
		return base.RoundTrip(request)
	}
	c, err := t.Queue.newCall(base, request)
	if err != nil {
		closeBody(request)
		return nil, err
	}
	var response *http.Response
	if t.Defer {
		c.isDeferrable = true
		response, err = c.deferred(request.Context())
	} else {
		response, err = c.await(request.Context())
	}
	if response != nil {
		response.Request = request
	}
	return response, err
}

// CloseIdleConnections closes those of Base, as [http.Client.CloseIdleConnections] asks.
func (t *Transport) CloseIdleConnections() {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if closer, can := base.(interface{ CloseIdleConnections() }); can {
		closer.CloseIdleConnections()
	}
}

// await makes attempts for as long as the caller waits.
func (c *call) await(ctx context.Context) (*http.Response, error) {
	if err := c.pass(ctx); err != nil {
		closeBody(c.request)
		return nil, err
	}
	e := c.attempt(ctx, nil)
	if !c.queue.judge(c, &e) {
		return e.response, e.err
	}
	t := c.queue.admit(c, &e)
	for waits := t != nil; waits; {
		putAside(e.response)
		action, err := t.wait(ctx)
		if err != nil {
			c.queue.leave(c, t)
			return nil, err
		}
		if action != 0 {
			break
		}
		e = c.attempt(ctx, t)
		waits = c.queue.settle(c, t, &e)
	}
	return e.response, e.err
}

type (
	waitOption struct{}
	keyOption  struct{}
	attemptKey struct{}
)

// WithWait is a context whose requests wait for so long instead of [Options].Wait. It has to be positive.
func WithWait(ctx context.Context, wait time.Duration) context.Context {
	return context.WithValue(ctx, waitOption{}, wait)
}

// WithKey is a context whose request has this idempotency key: at most 255 visible ASCII characters. It belongs to one request; two that
// carry it are one to their server. Without a key, "", a POST or PATCH is sent once.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOption{}, key)
}

// Attempt is the number of the attempt that a [Transport].Base is asked to make, by the context of its request; the first is 1. 0: there is none.
func Attempt(ctx context.Context) int {
	number, _ := ctx.Value(attemptKey{}).(int)
	return number
}

// numbered is the context of an attempt.
type numbered struct {
	context.Context
	attempt int
}

func (n numbered) Value(key any) any {
	if key == (attemptKey{}) {
		return n.attempt
	}
	return n.Context.Value(key)
}
