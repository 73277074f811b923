package redrive

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"strings"
	"time"
)

// keyHeader carries the idempotency key.
const keyHeader = "Idempotency-Key"

// call is one request on its way, from RoundTrip to its last answer.
type call struct {
	queue *Queue
	base  http.RoundTripper
	// The request as it was given, or a copy of it, once it goes on without its caller.
	request *http.Request
	// Its header, with the key.
	header http.Header
	origin origin
	policy *heldPolicy
	key    string
	flags  float64
	bytes  int64
	// When it was made, and until when its caller waits.
	createdAt, waitUntil float64
	// The number of the last attempt.
	number int
	// Its caller is content with a 202.
	isDeferrable bool
	// Set once it goes on without its caller.
	kept *keptCall
	// A redirect that may not be followed has ended it.
	isLedAway bool
}

// finished is an attempt that has ended, with what its answer asks for, as the core has read it.
type finished struct {
	response *http.Response
	err      error
	outcome  float64
	status   int
	// The caller has left: the attempt says nothing.
	isLeft bool
	// When it began, and for how long it went on until its headers came.
	began, took float64
	// The wait that the answer asks for and the reset of its limit; notGiven: none.
	delay, limit                 float64
	unusable, partitioned, asked float64
}

// newCall reads a request. It gives an [*OptionError] for what its context asks for in vain.
func (q *Queue) newCall(base http.RoundTripper, request *http.Request) (*call, error) {
	c := &call{queue: q, base: base, request: request, header: request.Header, origin: originOf(request), policy: &q.foreground, createdAt: q.now()}
	c.bytes = max(request.ContentLength, 0)
	if err := c.readKey(); err != nil {
		return nil, err
	}
	ctx := request.Context()
	waitMs := milliseconds(defaultWait) + bodyMs(c.bytes)
	if wait, isGiven := ctx.Value(waitOption{}).(time.Duration); isGiven {
		if wait <= 0 {
			return nil, &OptionError{"WithWait", fmt.Sprintf("expected a positive duration, got %s", wait)}
		}
		waitMs = milliseconds(wait)
	} else if q.options.Wait > 0 {
		waitMs = milliseconds(q.options.Wait)
	}
	if deadline, isThere := ctx.Deadline(); isThere {
		waitMs = math.Min(waitMs, milliseconds(time.Until(deadline)))
	}
	c.waitUntil = c.createdAt + math.Floor(math.Max(0, waitMs))
	return c, nil
}

// readKey gives the request its key. A key of the caller stays as it is.
func (c *call) readKey() error {
	request := c.request
	key, isGiven := request.Context().Value(keyOption{}).(string)
	if !isGiven {
		key = request.Header.Get(keyHeader)
	} else if !isKey(key) {
		return &OptionError{"WithKey", fmt.Sprintf("expected at most 255 visible ASCII characters, got %q", key)}
	}
	method := request.Method
	isRepeatable := request.Body == nil || request.Body == http.NoBody || request.GetBody != nil
	if key == "" && !isGiven && isRepeatable && (method == "POST" || method == "PUT" || method == "PATCH" || method == "DELETE") {
		key = newKey()
	}
	if key != "" && request.Header.Get(keyHeader) != key {
		c.header = maps.Clone(request.Header)
		c.header.Set(keyHeader, key)
	}
	c.key = key
	if key != "" {
		c.flags = flagKeyed
	}
	isIdempotent := method == "" || method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "PUT" || method == "DELETE"
	if isRepeatable && (key != "" || isIdempotent) {
		c.flags += flagReplayable
	}
	return nil
}

// isKey is whether a text can be a key, or says that there is none.
func isKey(text string) bool {
	return len(text) <= 255 && !strings.ContainsFunc(text, func(r rune) bool { return r < '!' || r > '~' })
}

// originOf is the origin of an absolute http or https URL.
func originOf(request *http.Request) origin {
	o := origin{strings.ToLower(request.URL.Scheme), strings.ToLower(request.URL.Host)}
	standard := ":80"
	if o.scheme == "https" {
		standard = ":443"
	}
	o.host = strings.TrimSuffix(o.host, standard)
	return o
}

// isSendable is whether a request leads somewhere. Any other is the base transport's to refuse.
func isSendable(request *http.Request) bool {
	if request.URL == nil || request.URL.Host == "" || request.Header == nil {
		return false
	}
	return strings.EqualFold(request.URL.Scheme, "http") || strings.EqualFold(request.URL.Scheme, "https")
}

// attempt sends the request once, and waits for the headers of its answer for as long as its policy and its caller allow. t: nil for its first.
func (c *call) attempt(ctx context.Context, t *task) finished {
	c.number++
	e := finished{began: c.queue.now(), delay: notGiven, limit: notGiven}
	body := c.request.Body
	if c.number > 1 && c.request.GetBody != nil {
		var err error
		if body, err = c.request.GetBody(); err != nil {
			e.err, e.outcome = fmt.Errorf("redrive: the body could not be had again (GetBody): %w", err), outcomeOwnError
			return e
		}
	}
	attemptCtx, cancel := context.WithCancelCause(numbered{ctx, c.number})
	request := c.request.WithContext(attemptCtx)
	request.Header, request.Body = c.header, body
	limit := c.limit(ctx, t, e.began, cancel)
	response, err := c.send(request)
	isLate := limit != nil && c.queue.limits.take(limit)
	e.took = c.queue.now() - e.began
	var late *AttemptTimeoutError
	if isLate {
		errors.As(context.Cause(attemptCtx), &late)
	}
	switch {
	case late != nil:
		if response != nil {
			response.Body.Close()
		}
		e.err, e.outcome = late, outcomeTimedOut
	case err != nil:
		e.err, e.outcome = err, outcomeOf(ctx, err)
		e.isLeft = ctx.Err() == context.Canceled
	case response == nil:
		e.err, e.outcome = errors.New("redrive: Transport.Base gave neither an answer nor an error"), outcomeOwnError
	default:
		response.Body = bodyOf(response, cancel)
		e.response, e.status, e.outcome = response, response.StatusCode, outcomeResponse
		if c.isLedAway {
			e.outcome = outcomeRedirectRefused
		}
		return e
	}
	cancel(nil)
	return e
}

// limit has an attempt end when its time is up. nil: its context ends it sooner, or nothing does.
func (c *call) limit(ctx context.Context, t *task, began float64, cancel context.CancelCauseFunc) *limit {
	limitMs := math.Min(c.policy.attemptLimitMs(c.bytes), math.Max(1, c.waitUntil-began))
	if math.IsInf(limitMs, 1) {
		return nil
	}
	l := &limit{number: c.number, duration: time.Duration(math.Min(limitMs, milliseconds(longestSleep))) * time.Millisecond, cancel: cancel}
	l.at = time.Now().Add(l.duration)
	if (t != nil || !c.isDeferrable) && math.IsNaN(c.policy.timeoutMs) && limitMs == c.policy.attemptLimitMs(c.bytes) {
		l.lasts = func() time.Time {
			return time.Now().Add(time.Duration(c.queue.lasts(c, t, began, limitMs)-c.queue.now()) * time.Millisecond)
		}
	}
	if deadline, isThere := ctx.Deadline(); isThere && !deadline.After(l.at) {
		return nil
	}
	c.queue.limits.put(l)
	return l
}

// outcomeOf is how an attempt has ended that had no answer.
func outcomeOf(ctx context.Context, err error) float64 {
	var timeout net.Error
	switch {
	case ctx.Err() == context.Canceled:
		return outcomeAborted
	case ctx.Err() != nil:
		return outcomeTimedOut
	case isMistake(err):
		return outcomeOwnError
	case errors.As(err, &timeout) && timeout.Timeout():
		return outcomeTimedOut
	}
	return outcomeNetworkError
}

// isMistake is whether no repeat mends an error: a request that cannot be sent, or a certificate that is refused.
func isMistake(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		unknown     x509.UnknownAuthorityError
		hostname    x509.HostnameError
		invalid     x509.CertificateInvalidError
		plain       tls.RecordHeaderError
	)
	if errors.As(err, &certificate) || errors.As(err, &unknown) || errors.As(err, &hostname) || errors.As(err, &invalid) || errors.As(err, &plain) {
		return true
	}
	words := err.Error()
	for _, mistake := range []string{"unsupported protocol scheme", "net/http: invalid ", "http: ContentLength=", "server gave HTTP response to HTTPS client", "failed to parse Location header"} {
		if strings.Contains(words, mistake) {
			return true
		}
	}
	return false
}

// newKey is a random UUID, version 4.
func newKey() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	text := make([]byte, 0, 36)
	for i := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text = append(text, '-')
		}
		text = hex.AppendEncode(text, id[i:i+1])
	}
	return string(text)
}
