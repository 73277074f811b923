package redrive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestHostileAnswersHoldNoCallerUp(t *testing.T) {
	endless := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(503)
		for r.Context().Err() == nil {
			if _, err := w.Write(bytes.Repeat([]byte("x"), 4096)); err != nil {
				return
			}
		}
	})
	silent := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(503)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	policy := Policy{MaxAttempts: 2, InitialDelay: time.Millisecond}
	for name, server := range map[string]*testServer{"endless": endless, "silent": silent} {
		queue := newQueue(t, Options{Policy: policy, Capacity: 10})
		response := get(t, client(queue), server.URL)
		if response.StatusCode != 503 || server.count() != 2 {
			t.Errorf("%s: %d after %d requests", name, response.StatusCode, server.count())
		}
		response.Body.Close()
	}
	for _, value := range []string{"soon", "-1", "1e9", "99999999999999999999999", "Sat, 99 Nov 2026 99:00:00 GMT", "", strings.Repeat("9", 4000)} {
		server := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", value)
			answers(503, 200)(n, w, r)
		})
		response := get(t, client(newQueue(t, Options{Policy: quick})), server.URL)
		if response.StatusCode != 200 && response.StatusCode != 503 || server.count() > 2 {
			t.Errorf("Retry-After %.20q: %d after %d requests", value, response.StatusCode, server.count())
		}
	}
}

func TestTheRestOfALargeFailedAnswerIsDroppedInWords(t *testing.T) {
	server := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(503)
		w.Write(bytes.Repeat([]byte("x"), keptBytes+1000))
	})
	queue := newQueue(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
	base := closing{queue}
	response, err := (&http.Client{Transport: &Transport{Queue: queue, Base: base}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if response.StatusCode != 503 || len(text) != keptBytes || !errors.Is(err, ErrBodyDropped) {
		t.Fatalf("%d, %d bytes, %v", response.StatusCode, len(text), err)
	}
}

// closing closes its queue as soon as the first attempt has ended and waits.
type closing struct{ queue *Queue }

func (c closing) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	go func() {
		for {
			c.queue.lock()
			waits := len(c.queue.tasks) > 0
			c.queue.unlock()
			if waits {
				c.queue.Close()
				return
			}
			runtime.Gosched()
		}
	}()
	return response, err
}

func TestAClosedQueueRefusesAndItsWaitingCallersGetTheLastAnswer(t *testing.T) {
	server := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "20")
		answers(503)(n, w, r)
	})
	queue := newQueue(t, Options{})
	response := get(t, &http.Client{Transport: &Transport{Queue: queue, Base: closing{queue}}}, server.URL)
	if text := textOf(t, response); response.StatusCode != 503 || text != "answer 1" {
		t.Fatalf("%d %q", response.StatusCode, text)
	}
	if _, err := client(queue).Get(server.URL); !errors.Is(err, ErrClosed) || server.count() != 1 {
		t.Fatalf("%v after %d requests", err, server.count())
	}
}

func TestWithoutRoomARequestIsNotTriedAgain(t *testing.T) {
	server := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "20")
		answers(503)(n, w, r)
	})
	queue := newQueue(t, Options{Capacity: 1})
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan error)
	go func() {
		request, _ := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
		_, err := client(queue).Do(request)
		first <- err
	}()
	for isThere := false; !isThere; runtime.Gosched() {
		queue.lock()
		isThere = len(queue.tasks) == 1
		queue.unlock()
	}
	response := get(t, client(queue), server.URL)
	if text := textOf(t, response); response.StatusCode != 503 || text != "answer 2" {
		t.Fatalf("%d %q", response.StatusCode, text)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestARequestThatCannotBeSentIsNotTriedAgain(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	defer secure.Close()
	plain := serve(t, answers(200))
	for name, make := range map[string]func() *http.Request{
		"an unknown certificate": func() *http.Request { r, _ := http.NewRequest("GET", secure.URL, nil); return r },
		"plain HTTP in place of TLS": func() *http.Request {
			r, _ := http.NewRequest("GET", strings.Replace(plain.URL, "http", "https", 1), nil)
			return r
		},
		"a header that is none": func() *http.Request {
			r, _ := http.NewRequest("GET", plain.URL, nil)
			r.Header["bad name"] = []string{"x"}
			return r
		},
		"another scheme": func() *http.Request { r, _ := http.NewRequest("GET", "ftp://127.0.0.1/x", nil); return r },
	} {
		base := &recorder{}
		response, err := (&http.Client{Transport: &Transport{Queue: newQueue(t, Options{Policy: quick}), Base: base}}).Do(make())
		if err == nil || base.count() > 1 {
			t.Errorf("%s: %v, %d attempts", name, response, base.count())
		}
	}
}

func TestAnUpgradedConnectionCanBeWrittenTo(t *testing.T) {
	server := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		connection, buffer, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer connection.Close()
		io.WriteString(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		line, _ := buffer.ReadString('\n')
		io.WriteString(connection, line)
	})
	request, _ := http.NewRequest("GET", server.URL, nil)
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "echo")
	response, err := client(newQueue(t, Options{})).Do(request)
	if err != nil || response.StatusCode != 101 {
		t.Fatalf("%v %v", response, err)
	}
	io.WriteString(response.Body.(io.Writer), "tea\n")
	if text := textOf(t, response); text != "tea\n" {
		t.Fatalf("%q", text)
	}
}
