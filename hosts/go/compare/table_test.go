package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	redrive "github.com/redrive-dev/redrive/hosts/go"
)

// counter sends by a transport of its own, and counts attempts.
type counter struct {
	base *http.Transport
	mu   sync.Mutex
	at   []time.Time
	// Runs after the nth attempt.
	after func(n int)
}

func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.at = append(c.at, time.Now())
	n := len(c.at)
	c.mu.Unlock()
	response, err := c.base.RoundTrip(request)
	if c.after != nil {
		c.after(n)
	}
	return response, err
}

func newCounter() *counter {
	return &counter{base: http.DefaultTransport.(*http.Transport).Clone()}
}

// ours and theirs are clients as their users make them, with short waits. Both make 5 attempts, the default of go-retryablehttp.
func ours(t testing.TB, base http.RoundTripper) *http.Client {
	t.Helper()
	queue, err := redrive.New(redrive.Options{
		Policy: redrive.Policy{MaxAttempts: 5, InitialDelay: time.Millisecond, MaxDelay: 5 * time.Millisecond},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { queue.Close() })
	return &http.Client{Transport: &redrive.Transport{Queue: queue, Base: base}}
}

func theirs(_ testing.TB, base http.RoundTripper) *http.Client {
	client := retryablehttp.NewClient()
	client.RetryWaitMin, client.RetryWaitMax = time.Millisecond, 5*time.Millisecond
	client.Logger = nil
	client.HTTPClient.Transport = base
	return client.StandardClient()
}

// outcome is what a caller and a server see.
type outcome struct {
	// status of the answer; 0: an error.
	status   int
	attempts int
}

func (o outcome) String() string {
	if o.status == 0 {
		return fmt.Sprintf("an error after %d", o.attempts)
	}
	return fmt.Sprintf("%d after %d", o.status, o.attempts)
}

// exchange is one run of a row.
type exchange struct {
	outcome
	text    string
	err     error
	bodies  []string
	keys    []string
	tookMs  int64
	counter *counter
}

// row is a case that users of go-retryablehttp expect something of.
type row struct {
	name string
	// status of the nth answer; 0: the connection is cut.
	serve func(n int, w http.ResponseWriter)
	// Default: a GET.
	request       func(url string) *http.Request
	ours, theirs  outcome
	check         func(t *testing.T, isOurs bool, e exchange)
	isTLS, isDown bool
}

// inTurn answers with these statuses, the last one again and again.
func inTurn(statuses ...int) func(int, http.ResponseWriter) {
	return func(n int, w http.ResponseWriter) {
		status := statuses[min(n, len(statuses))-1]
		if status == 0 {
			connection, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				connection.Close()
			}
			return
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, "answer %d", n)
	}
}

func withHeader(name, value string, serve func(int, http.ResponseWriter)) func(int, http.ResponseWriter) {
	return func(n int, w http.ResponseWriter) {
		w.Header().Set(name, value)
		serve(n, w)
	}
}

func posting(body func() io.Reader) func(string) *http.Request {
	return func(url string) *http.Request {
		request, err := http.NewRequest("POST", url, body())
		if err != nil {
			panic(err)
		}
		return request
	}
}

func within(limit time.Duration) func(string) *http.Request {
	return func(url string) *http.Request {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		time.AfterFunc(10*time.Second, cancel)
		request, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
		return request
	}
}

func sameBodies(t *testing.T, isOurs bool, e exchange) {
	for i, body := range e.bodies {
		if body != "tea" {
			t.Errorf("attempt %d has the body %q", i+1, body)
		}
		if isOurs && (e.keys[i] == "" || e.keys[i] != e.keys[0]) {
			t.Errorf("attempt %d has the key %q, the first %q", i+1, e.keys[i], e.keys[0])
		}
	}
}

func waits(least time.Duration) func(*testing.T, bool, exchange) {
	return func(t *testing.T, _ bool, e exchange) {
		if len(e.counter.at) < 2 {
			t.Fatalf("%d attempts", len(e.counter.at))
		}
		if waited := e.counter.at[1].Sub(e.counter.at[0]); waited < least {
			t.Errorf("the second attempt came after %s", waited)
		}
	}
}

func isError(target error) func(*testing.T, bool, exchange) {
	return func(t *testing.T, _ bool, e exchange) {
		if !errors.Is(e.err, target) {
			t.Errorf("the error is %v", e.err)
		}
	}
}

// rows are what the documentation and the tests of go-retryablehttp v0.7.8 say, and what differs here. Where the last two columns differ,
// docs/retries.md has the reason.
var rows = []row{
	{name: "200", serve: inTurn(200), ours: outcome{200, 1}, theirs: outcome{200, 1}},
	{name: "204", serve: inTurn(204), ours: outcome{204, 1}, theirs: outcome{204, 1}},
	{name: "304", serve: inTurn(304), ours: outcome{304, 1}, theirs: outcome{304, 1}},
	{name: "400", serve: inTurn(400), ours: outcome{400, 1}, theirs: outcome{400, 1}},
	{name: "401", serve: inTurn(401), ours: outcome{401, 1}, theirs: outcome{401, 1}},
	{name: "404", serve: inTurn(404), ours: outcome{404, 1}, theirs: outcome{404, 1}},
	{name: "408, then 200", serve: inTurn(408, 200), ours: outcome{200, 2}, theirs: outcome{408, 1}},
	{name: "409", serve: inTurn(409), ours: outcome{409, 1}, theirs: outcome{409, 1}},
	{name: "429 that says when, then 200", serve: withHeader("Retry-After", "1", inTurn(429, 200)), ours: outcome{200, 2}, theirs: outcome{200, 2}, check: waits(time.Second)},
	{name: "500, then 200", serve: inTurn(500, 200), ours: outcome{500, 1}, theirs: outcome{200, 2}},
	{name: "501", serve: inTurn(501), ours: outcome{501, 1}, theirs: outcome{501, 1}},
	{name: "502, then 200", serve: inTurn(502, 200), ours: outcome{200, 2}, theirs: outcome{200, 2}},
	{name: "503, then 200", serve: inTurn(503, 200), ours: outcome{200, 2}, theirs: outcome{200, 2}},
	{name: "504, then 200", serve: inTurn(504, 200), ours: outcome{200, 2}, theirs: outcome{200, 2}},
	{name: "503 four times, then 200", serve: inTurn(503, 503, 503, 503, 200), ours: outcome{200, 5}, theirs: outcome{200, 5}},
	{name: "503 for ever: the last answer, or an error", serve: inTurn(503), ours: outcome{503, 5}, theirs: outcome{0, 5},
		check: func(t *testing.T, isOurs bool, e exchange) {
			if isOurs && e.text != "answer 5" {
				t.Errorf("the last answer has the body %q", e.text)
			}
		}},
	{name: "Retry-After in seconds", serve: withHeader("Retry-After", "1", inTurn(503, 200)), ours: outcome{200, 2}, theirs: outcome{200, 2}, check: waits(time.Second)},
	{name: "Retry-After as a date", serve: func(n int, w http.ResponseWriter) {
		w.Header().Set("Retry-After", time.Now().Add(2*time.Second).UTC().Format(http.TimeFormat))
		inTurn(503, 200)(n, w)
	}, ours: outcome{200, 2}, theirs: outcome{200, 2}, check: waits(500 * time.Millisecond)},
	{name: "Retry-After that is none", serve: withHeader("Retry-After", "soon", inTurn(503, 200)), ours: outcome{200, 2}, theirs: outcome{200, 2}},
	{name: "Retry-After beyond the caller's context: the answer at once, or an error at its end", serve: withHeader("Retry-After", "20", inTurn(503)),
		request: within(300 * time.Millisecond), ours: outcome{503, 1}, theirs: outcome{0, 1},
		check: func(t *testing.T, isOurs bool, e exchange) {
			if isOurs != (e.tookMs < 250) {
				t.Errorf("it took %d ms", e.tookMs)
			}
		}},
	{name: "the connection is cut, then 200", serve: inTurn(0, 200), ours: outcome{200, 2}, theirs: outcome{200, 2}},
	{name: "POST of a string: 503, then 200", serve: inTurn(503, 200), request: posting(func() io.Reader { return strings.NewReader("tea") }),
		ours: outcome{200, 2}, theirs: outcome{200, 2}, check: sameBodies},
	{name: "POST: the connection is cut, then 200", serve: inTurn(0, 200), request: posting(func() io.Reader { return strings.NewReader("tea") }),
		ours: outcome{200, 2}, theirs: outcome{200, 2}, check: sameBodies},
	{name: "POST of a stream: sent once, or read into memory", serve: inTurn(503, 200), request: posting(func() io.Reader { return io.MultiReader(strings.NewReader("tea")) }),
		ours: outcome{503, 1}, theirs: outcome{200, 2},
		check: func(t *testing.T, _ bool, e exchange) {
			for _, body := range e.bodies {
				if body != "tea" {
					t.Errorf("body %q", body)
				}
			}
		}},
	{name: "the context is cancelled while it waits", serve: withHeader("Retry-After", "5", inTurn(503)), request: func(url string) *http.Request {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(100*time.Millisecond, cancel)
		request, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
		return request
	}, ours: outcome{0, 1}, theirs: outcome{0, 1}, check: isError(context.Canceled)},
	{name: "the context ends while the server works", serve: func(int, http.ResponseWriter) { time.Sleep(500 * time.Millisecond) },
		request: within(100 * time.Millisecond), ours: outcome{0, 1}, theirs: outcome{0, 1}, check: isError(context.DeadlineExceeded)},
	{name: "the port is closed", isDown: true, ours: outcome{0, 5}, theirs: outcome{0, 5}},
	{name: "an unknown certificate", isTLS: true, serve: inTurn(200), ours: outcome{0, 1}, theirs: outcome{0, 1}},
	{name: "another scheme", serve: inTurn(200), request: func(string) *http.Request {
		request, _ := http.NewRequest("GET", "ftp://127.0.0.1/", nil)
		return request
	}, ours: outcome{0, 1}, theirs: outcome{0, 1}},
	{name: "a header that is none", serve: inTurn(200), request: func(url string) *http.Request {
		request, _ := http.NewRequest("GET", url, nil)
		request.Header["bad name"] = []string{"x"}
		return request
	}, ours: outcome{0, 1}, theirs: outcome{0, 1}},
	{name: "redirects without an end: ten, by the http.Client", serve: func(n int, w http.ResponseWriter) {
		w.Header().Set("Location", "/again")
		w.WriteHeader(302)
	}, ours: outcome{0, 10}, theirs: outcome{0, 10}},
}

func run(t *testing.T, r row, make func(testing.TB, http.RoundTripper) *http.Client) exchange {
	t.Helper()
	var e exchange
	var mu sync.Mutex
	e.counter = newCounter()
	defer e.counter.base.CloseIdleConnections()
	n := 0
	handler := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		mu.Lock()
		e.bodies, e.keys = append(e.bodies, string(body)), append(e.keys, request.Header.Get("Idempotency-Key"))
		n++
		mine := n
		mu.Unlock()
		r.serve(mine, w)
	})
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if r.isTLS {
		server.StartTLS()
	} else {
		server.Start()
	}
	defer server.Close()
	url := server.URL
	if r.isDown {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		url = "http://" + listener.Addr().String()
		listener.Close()
	}
	request, _ := http.NewRequest("GET", url, nil)
	if r.request != nil {
		request = r.request(url)
	}
	startedAt := time.Now()
	response, err := make(t, e.counter).Do(request)
	e.tookMs, e.err, e.attempts = time.Since(startedAt).Milliseconds(), err, len(e.counter.at)
	if err == nil {
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		e.status, e.text = response.StatusCode, string(text)
	}
	return e
}

func TestUsersOfRetryablehttpFindWhatTheyExpect(t *testing.T) {
	differ := 0
	for _, r := range rows {
		for _, side := range []struct {
			name     string
			isOurs   bool
			expected outcome
			make     func(testing.TB, http.RoundTripper) *http.Client
		}{{"redrive", true, r.ours, ours}, {"go-retryablehttp", false, r.theirs, theirs}} {
			t.Run(r.name+"/"+side.name, func(t *testing.T) {
				e := run(t, r, side.make)
				if e.outcome != side.expected {
					t.Fatalf("%s, expected %s (%v)", e.outcome, side.expected, e.err)
				}
				if r.check != nil {
					r.check(t, side.isOurs, e)
				}
			})
		}
		if r.ours != r.theirs {
			differ++
			t.Logf("%-80s redrive: %s; go-retryablehttp: %s", r.name, r.ours, r.theirs)
		}
	}
	t.Logf("%d rows, %d of them differ", len(rows), differ)
}

func TestAServerThatComesUpIsReached(t *testing.T) {
	for name, make := range map[string]func(testing.TB, http.RoundTripper) *http.Client{"redrive": ours, "go-retryablehttp": theirs} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().String()
		listener.Close()
		base := newCounter()
		base.after = func(n int) {
			if n == 2 {
				again, err := net.Listen("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
				go server.Serve(again)
				t.Cleanup(func() { server.Close() })
			}
		}
		response, err := make(t, base).Get("http://" + address)
		if err != nil || response.StatusCode != 200 || len(base.at) != 3 {
			t.Errorf("%s: %v %v after %d attempts", name, response, err, len(base.at))
		}
	}
}
