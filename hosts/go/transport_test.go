package redrive

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
	"sync/atomic"
	"testing"
	"time"
)

// quick is a policy whose waits take no time worth a test's.
var quick = Policy{InitialDelay: time.Millisecond, MaxDelay: 2 * time.Millisecond}

func newQueue(t testing.TB, options Options) *Queue {
	t.Helper()
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	queue, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { queue.Close() })
	return queue
}

func client(queue *Queue) *http.Client {
	return &http.Client{Transport: &Transport{Queue: queue}}
}

// seen is a request as a server has it.
type seen struct {
	method, body, key string
	header            http.Header
}

// testServer remembers what it is asked.
type testServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests []seen
}

func serve(t testing.TB, handle func(n int, w http.ResponseWriter, r *http.Request)) *testServer {
	t.Helper()
	server := &testServer{}
	server.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		server.mu.Lock()
		server.requests = append(server.requests, seen{r.Method, string(body), r.Header.Get(keyHeader), r.Header})
		n := len(server.requests)
		server.mu.Unlock()
		handle(n, w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

func (s *testServer) all() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seen(nil), s.requests...)
}

func (s *testServer) count() int { return len(s.all()) }

// answers gives these statuses in turn, and then the last one again and again.
func answers(statuses ...int) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(statuses[min(n, len(statuses))-1])
		fmt.Fprintf(w, "answer %d", n)
	}
}

func get(t testing.TB, client *http.Client, url string) *http.Response {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func textOf(t testing.TB, response *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return string(text)
}

func TestAGoodFirstAnswerIsTheCallers(t *testing.T) {
	server := serve(t, answers(200))
	response := get(t, client(newQueue(t, Options{})), server.URL)
	if text := textOf(t, response); response.StatusCode != 200 || text != "answer 1" || server.count() != 1 {
		t.Fatalf("%d %q after %d requests", response.StatusCode, text, server.count())
	}
	if response.Request.Header.Get(keyHeader) != "" || server.all()[0].key != "" {
		t.Fatal("a GET has no key")
	}
}

func TestWhatFailsForAPassingReasonIsTriedAgain(t *testing.T) {
	for _, status := range []int{408, 429, 502, 503, 504} {
		server := serve(t, answers(status, 200))
		if status == 429 {
			server = serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", "0")
				answers(429, 200)(n, w, r)
			})
		}
		response := get(t, client(newQueue(t, Options{Policy: quick})), server.URL)
		if response.StatusCode != 200 || server.count() != 2 {
			t.Errorf("%d: %d after %d requests", status, response.StatusCode, server.count())
		}
	}
	for _, status := range []int{304, 400, 401, 404, 409, 422, 500, 501} {
		server := serve(t, answers(status, 200))
		response := get(t, client(newQueue(t, Options{Policy: quick})), server.URL)
		if response.StatusCode != status || server.count() != 1 {
			t.Errorf("%d: %d after %d requests", status, response.StatusCode, server.count())
		}
	}
}

func TestTheLastAnswerIsReturnedWholeWhenRetriesEnd(t *testing.T) {
	server := serve(t, answers(503))
	response := get(t, client(newQueue(t, Options{Policy: Policy{MaxAttempts: 3, InitialDelay: time.Millisecond}})), server.URL)
	if text := textOf(t, response); response.StatusCode != 503 || text != "answer 3" || server.count() != 3 {
		t.Fatalf("%d %q after %d requests", response.StatusCode, text, server.count())
	}
}

func TestAPolicyMayListStatusesBelow400(t *testing.T) {
	policy := quick
	policy.StatusCodes = []int{202, 500}
	server := serve(t, answers(202, 500, 200))
	response := get(t, client(newQueue(t, Options{Policy: policy})), server.URL)
	if response.StatusCode != 200 || server.count() != 3 {
		t.Fatalf("%d after %d requests", response.StatusCode, server.count())
	}
}

func TestAPOSTKeepsOneKeyAndItsBody(t *testing.T) {
	for name, given := range map[string]string{"drawn": "", "the caller's": "order-1"} {
		server := serve(t, answers(503, 503, 200))
		request, _ := http.NewRequest("POST", server.URL, strings.NewReader("tea"))
		if given != "" {
			request.Header.Set(keyHeader, given)
		}
		response, err := client(newQueue(t, Options{Policy: quick})).Do(request)
		if err != nil || response.StatusCode != 200 {
			t.Fatalf("%s: %v %v", name, response, err)
		}
		all := server.all()
		if len(all) != 3 {
			t.Fatalf("%s: %d requests", name, len(all))
		}
		for _, one := range all {
			if one.body != "tea" || one.key == "" || one.key != all[0].key || (given != "" && one.key != given) {
				t.Errorf("%s: body %q, key %q", name, one.body, one.key)
			}
		}
		if request.Header.Get(keyHeader) != given {
			t.Errorf("%s: the caller's request has been changed", name)
		}
	}
}

func TestTheContextsKeyCountsAndNoneTurnsRepeatsOff(t *testing.T) {
	server := serve(t, answers(503, 200, 503, 200))
	c := client(newQueue(t, Options{Policy: quick}))
	post := func(key string) int {
		request, _ := http.NewRequestWithContext(WithKey(context.Background(), key), "POST", server.URL, strings.NewReader("tea"))
		response, err := c.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode
	}
	if status := post("order-2"); status != 200 || server.all()[0].key != "order-2" || server.all()[1].key != "order-2" {
		t.Fatalf("%d, %+v", status, server.all())
	}
	if status := post(""); status != 503 || server.count() != 3 || server.all()[2].key != "" {
		t.Fatalf("%d after %d requests", status, server.count())
	}
}

func TestABodyThatCannotBeHadAgainIsSentOnce(t *testing.T) {
	server := serve(t, answers(503, 200))
	request, _ := http.NewRequest("POST", server.URL, io.MultiReader(strings.NewReader("one way")))
	response, err := client(newQueue(t, Options{Policy: quick})).Do(request)
	if err != nil || response.StatusCode != 503 || server.count() != 1 {
		t.Fatalf("%v %v after %d requests", response, err, server.count())
	}
	if one := server.all()[0]; one.body != "one way" || one.key != "" {
		t.Fatalf("%+v", one)
	}
}

func TestAConnectionThatIsRefusedIsTriedUntilTheServerIsUp(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	queue := newQueue(t, Options{Policy: quick})
	base := &recorder{}
	base.after = func(n int) {
		if n != 2 {
			return
		}
		again, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })}
		go server.Serve(again)
		t.Cleanup(func() { server.Close() })
	}
	response, err := (&http.Client{Transport: &Transport{Queue: queue, Base: base}}).Post("http://"+address, "text/plain", strings.NewReader("tea"))
	if err != nil {
		t.Fatal(err)
	}
	if text := textOf(t, response); text != "tea" || base.count() != 3 {
		t.Fatalf("%q after %d attempts", text, base.count())
	}
}

// recorder sends by the default transport, and counts.
type recorder struct {
	mu       sync.Mutex
	attempts []int
	after    func(n int)
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	r.mu.Lock()
	r.attempts = append(r.attempts, Attempt(request.Context()))
	n := len(r.attempts)
	r.mu.Unlock()
	if r.after != nil {
		r.after(n)
	}
	return response, err
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.attempts)
}

func TestAHangingServerMeetsTheTimeLimit(t *testing.T) {
	release := make(chan struct{})
	server := serve(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	base := &recorder{}
	policy := Policy{MaxAttempts: 2, InitialDelay: time.Millisecond, AttemptTimeout: 30 * time.Millisecond}
	c := &http.Client{Transport: &Transport{Queue: newQueue(t, Options{Policy: policy}), Base: base}}
	_, err := c.Get(server.URL)
	var late *AttemptTimeoutError
	if !errors.As(err, &late) || late.Number != 2 || late.Limit != 30*time.Millisecond || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() || base.count() != 2 || base.attempts[1] != 2 {
		t.Fatalf("got %v after attempts %v", err, base.attempts)
	}
}

func TestACallerThatLeavesDuringAnAttemptHasItEnded(t *testing.T) {
	left := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	server := serve(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
		close(left)
	})
	request, _ := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
	_, err := client(newQueue(t, Options{Policy: quick})).Do(request)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	<-left
	if server.count() != 1 {
		t.Fatalf("%d requests", server.count())
	}
}

func TestAThousandCallsInAnOutageAllSucceed(t *testing.T) {
	startedAt := time.Now()
	server := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if time.Since(startedAt) < 1500*time.Millisecond {
			w.WriteHeader(503)
		}
	})
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100
	c := &http.Client{Transport: &Transport{Queue: newQueue(t, Options{}), Base: transport}}
	defer transport.CloseIdleConnections()
	var failed atomic.Int32
	var calls sync.WaitGroup
	for i := range 1000 {
		calls.Go(func() {
			response, err := c.Post(server.URL, "text/plain", strings.NewReader(fmt.Sprint(i)))
			if err != nil || response.StatusCode != 200 {
				failed.Add(1)
				return
			}
			response.Body.Close()
		})
	}
	calls.Wait()
	if failed.Load() != 0 {
		t.Fatalf("%d of 1000 failed", failed.Load())
	}
	keys := map[string]string{}
	for _, one := range server.all() {
		if body, isThere := keys[one.key]; isThere && body != one.body {
			t.Fatalf("two calls have the key %s", one.key)
		}
		keys[one.key] = one.body
	}
	if len(keys) != 1000 {
		t.Fatalf("%d keys", len(keys))
	}
}
