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
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// mostKeptBody is the largest body, in bytes, of a deferred request.
const mostKeptBody = 8 << 20

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
	var e finished
	first := &e
	if c.queue.isAway(c) {
		first = nil
		defer closeBody(c.request)
	} else {
		e = c.attempt(ctx)
		if !c.queue.judge(c, &e) {
			return e.response, e.err
		}
	}
	accepted, err := c.keep(ctx, first)
	if err == nil {
		drop(e.response)
		return accepted, nil
	}
	c.queue.log.WarnContext(ctx, "redrive: a request could not be deferred", "origin", c.origin.String(), "error", err.Error())
	if first == nil {
		return nil, err
	}
	return e.response, e.err
}

// isAway is whether a request is kept unsent: the circuit of its origin is not closed, and it can be sent later.
func (q *Queue) isAway(c *call) bool {
	q.lock()
	defer q.unlock()
	l := q.lanes[c.origin]
	return q.ended == nil && l != nil && int(c.flags)&flagReplayable != 0 && l.circuit != circuitClosed
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
	request := c.request.Clone(context.WithoutCancel(ctx))
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

func (c *call) keepInService(ctx context.Context, body []byte) error {
	task := Task{URL: c.request.URL.String(), Method: c.request.Method, Header: c.request.Header, Body: body, Key: c.key}
	text, err := c.queue.taskText(task)
	if err != nil {
		return err
	}
	receipt, err := c.queue.service.post(ctx, text)
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
	e := c.attempt(ctx)
	drop(e.response)
	c.queue.settle(c, t, &e)
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
