package redrive

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// mostKeptBody is the largest body, in bytes, of a deferred request.
const mostKeptBody = 8 << 20

// mostHops redirects are followed.
const mostHops = 20

// keepingTime is how long a caller waits for the service to take its request.
const keepingTime = 2 * time.Second

// memory is the durability of what ends with this process.
const memory = "memory"

// keptCall is what is said of a request that goes on without its caller.
type keptCall struct {
	Status     string `json:"status"`
	TaskID     string `json:"taskId"`
	TraceID    string `json:"traceId"`
	Durability string `json:"durability"`
}

// deferred makes one attempt, unless the server is known to be down, and keeps the request where that fails for a passing reason.
func (c *call) deferred(ctx context.Context) (*http.Response, error) {
	isAway, err := c.queue.isAway(c)
	if err != nil {
		closeBody(c.request)
		return nil, err
	}
	var e finished
	var first *finished
	if !isAway {
		e, first = c.attempt(ctx, nil), &e
		if !c.queue.judge(c, first) {
			return e.response, e.err
		}
	}
	kept := *c
	accepted, err := kept.keep(ctx, first)
	switch {
	case err == nil && isAway:
		closeBody(c.request)
		return accepted, nil
	case err == nil:
		drop(e.response)
		return accepted, nil
	}
	c.queue.log.WarnContext(ctx, "redrive: a request could not be deferred", "origin", c.origin.String(), "error", err.Error())
	if isAway {
		c.isDeferrable = false
		return c.await(ctx)
	}
	return e.response, e.err
}

// isAway is whether a request is kept unsent: the circuit of its origin is not closed, and it can be sent later. With a service no task of
// this queue shows whether the server is back, so one of the requests does.
func (q *Queue) isAway(c *call) (bool, error) {
	q.lock()
	defer q.unlock()
	if q.ended != nil {
		return false, q.refusal()
	}
	l := q.lanes[c.origin]
	if l == nil || int(c.flags)&flagReplayable == 0 || l.circuit == circuitClosed {
		return false, nil
	}
	return q.service == nil || q.core.ask(opAdmits, q.now(), l.handle)[0] == 0, nil
}

// keep has the request go on without its caller, and gives the 202 for it. `first` nil: it has not been sent yet.
func (c *call) keep(ctx context.Context, first *finished) (*http.Response, error) {
	body, err := c.wholeBody()
	c.kept = &keptCall{"queued", newKey(), traceOf(c.request), memory}
	switch inMemory := c.queue.service == nil; {
	case err == nil && inMemory:
		err = c.keepInMemory(ctx, body, first)
	case err == nil:
		c.queue.observe(c, first)
		err = c.keepInService(ctx, body)
	default:
		c.queue.observe(c, first)
	}
	if err != nil {
		return nil, err
	}
	return c.accepted()
}

func (c *call) keepInMemory(ctx context.Context, body []byte, first *finished) error {
	// net keeps hooks of connections under a key of its own; one here replaces them all
	own := httptrace.WithClientTrace(untraced{context.WithoutCancel(ctx)}, &httptrace.ClientTrace{ConnectDone: func(string, string, error) {}})
	request := c.request.Clone(own)
	request.Cancel = nil // the Timeout of an http.Client closes it
	request.Body = http.NoBody
	if len(body) > 0 {
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		request.Body, _ = request.GetBody()
	}
	c.request, c.header, c.policy, c.waitUntil = request, c.header.Clone(), &c.queue.deferred, never
	if c.queue.admit(c, first) != nil {
		return nil
	}
	if c.queue.isEnded() {
		return ErrClosed
	}
	return fmt.Errorf("redrive: %w, or the policy allows no other attempt", ErrQueueFull)
}

// untraced is a context without the hooks of its caller's httptrace, which are for the call alone.
type untraced struct{ context.Context }

func (u untraced) Value(key any) any {
	value := u.Context.Value(key)
	if _, is := value.(*httptrace.ClientTrace); is {
		return nil
	}
	return value
}

func (c *call) keepInService(ctx context.Context, body []byte) error {
	if host := c.request.Host; host != "" && host != c.request.URL.Host {
		return &NotStorableError{"Host", "the service sends to the host of the URL"}
	}
	task := Task{URL: c.request.URL.String(), Method: c.request.Method, Header: c.request.Header, Body: body, Key: c.key}
	text, err := c.queue.taskText(task)
	if err != nil {
		return err
	}
	waitMs := math.Max(1, math.Min(milliseconds(keepingTime), c.waitUntil-c.createdAt)) + bodyMs(int64(len(body)))
	receipt, err := c.queue.service.post(WithWait(ctx, time.Duration(waitMs)*time.Millisecond), text)
	if err != nil {
		return err
	}
	c.kept.TaskID, c.kept.Durability = receipt.TaskID, receipt.Durability
	return nil
}

// observe reports a failed first attempt that made no task here; nil: there was none.
func (q *Queue) observe(c *call, e *finished) {
	q.lock()
	defer q.unlock()
	if q.ended == nil && e != nil {
		q.hear(c, e)
	}
}

func (q *Queue) isEnded() bool {
	q.lock()
	defer q.unlock()
	return q.ended != nil
}

// wholeBody is a copy of the request's body, since its caller may use the request again once it has the 202.
func (c *call) wholeBody() ([]byte, error) {
	if c.request.Body == nil || c.request.Body == http.NoBody {
		return nil, nil
	}
	again, err := c.request.GetBody()
	if err != nil {
		return nil, fmt.Errorf("redrive: the body could not be had again (GetBody): %w", err)
	}
	defer again.Close()
	body, err := io.ReadAll(io.LimitReader(again, mostKeptBody+1))
	if err == nil && len(body) > mostKeptBody {
		err = fmt.Errorf("redrive: a body of more than %d bytes is not kept", mostKeptBody)
	}
	return body, err
}

// goOn makes the next attempt of a request that has no caller.
func (c *call) goOn(t *task) {
	ctx, cancel := context.WithCancel(c.request.Context())
	defer cancel()
	defer context.AfterFunc(c.queue.context, cancel)()
	e := c.attempt(ctx, t)
	drop(e.response)
	c.queue.settle(c, t, &e)
}

// send makes an attempt. Where there is no caller any more, whose http.Client would follow redirects, they are followed here.
func (c *call) send(request *http.Request) (*http.Response, error) {
	if c.kept == nil {
		return c.base.RoundTrip(request)
	}
	return (&http.Client{Transport: c.base, CheckRedirect: c.follow}).Do(request)
}

// follow allows a redirect within the origin that keeps the method, or that answers the request: from then on the GET is what is sent,
// without body and key (docs/retries.md).
func (c *call) follow(next *http.Request, via []*http.Request) error {
	method := via[len(via)-1].Method
	isAnswer := next.Method != method && method != ""
	if originOf(next) != c.origin || len(via) > mostHops || isAnswer && method != "POST" && next.Response.StatusCode != http.StatusSeeOther {
		c.isLedAway = true
		return http.ErrUseLastResponse
	}
	if isAnswer {
		next.Header.Del(keyHeader)
		c.request, c.header = next.WithContext(c.request.Context()), next.Header
	}
	return nil
}

// reportKept logs the end of a request that had no caller. The queue is locked.
func (q *Queue) reportKept(c *call, kind int, reason float64) {
	attributes := []any{"method", c.request.Method, "origin", c.origin.String(), "taskId", c.kept.TaskID, "traceId", c.kept.TraceID}
	switch {
	case kind == nextSucceeded:
		q.report(slog.LevelInfo, "redrive: a deferred request succeeded", attributes...)
	case int(reason) < len(reasons):
		q.report(slog.LevelError, "redrive: a deferred request was given up", append(attributes, "reason", reasons[int(reason)])...)
	}
}

// accepted is the 202 for the caller.
func (c *call) accepted() (*http.Response, error) {
	body, err := json.Marshal(c.kept)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Redrive-Task-Id", c.kept.TaskID)
	header.Set("Redrive-Trace-Id", c.kept.TraceID)
	header.Set("Redrive-Durability", c.kept.Durability)
	return &http.Response{
		Status: "202 Accepted", StatusCode: http.StatusAccepted, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-`)

// traceOf is the id of the trace that the request is part of (W3C Trace Context), or of one that it begins.
func traceOf(request *http.Request) string {
	if found := traceparent.FindStringSubmatch(strings.ToLower(request.Header.Get("Traceparent"))); found != nil {
		return found[1]
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	return hex.EncodeToString(id[:])
}
