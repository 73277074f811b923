package redrive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// script answers in place of a network, in virtual time.
type script struct {
	handle func(n int, request *http.Request) (*http.Response, error)
	mu     sync.Mutex
	at     []time.Time
}

func (s *script) RoundTrip(request *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.at = append(s.at, time.Now())
	n := len(s.at)
	s.mu.Unlock()
	if request.Body != nil {
		request.Body.Close()
	}
	return s.handle(n, request)
}

func (s *script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.at)
}

func answer(status int, header ...string) *http.Response {
	response := &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody}
	for i := 0; i < len(header); i += 2 {
		response.Header.Set(header[i], header[i+1])
	}
	return response
}

func TestS9RetryAfterIsHeededToTheMillisecond(t *testing.T) {
	for _, header := range [][]string{{"Retry-After", "7"}, {"X-Ms-Retry-After-Ms", "7000"}, {"RateLimit", `"default";r=0;t=7`}} {
		synctest.Test(t, func(t *testing.T) {
			base := &script{handle: func(n int, _ *http.Request) (*http.Response, error) {
				if n == 1 {
					return answer(429, header...), nil
				}
				return answer(200), nil
			}}
			response := get(t, &http.Client{Transport: &Transport{Queue: newQueue(t, Options{Policy: quick}), Base: base}}, "http://api.test/")
			if response.StatusCode != 200 || len(base.at) != 2 {
				t.Fatalf("%d after %d attempts", response.StatusCode, len(base.at))
			}
			if waited := base.at[1].Sub(base.at[0]); waited < 7*time.Second || waited > 7*time.Second+2*time.Millisecond {
				t.Errorf("%v: the second attempt came after %s", header, waited)
			}
		})
	}
}

func TestAWaitBeyondTheCallersIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{handle: func(int, *http.Request) (*http.Response, error) { return answer(503, "Retry-After", "60"), nil }}
		queue := newQueue(t, Options{})
		startedAt := time.Now()
		deadline, cancel := context.WithTimeout(context.Background(), 59*time.Second)
		defer cancel()
		for name, ctx := range map[string]context.Context{"the default": context.Background(), "WithWait": WithWait(context.Background(), 50*time.Second), "the context's": WithWait(deadline, time.Hour)} {
			request, _ := http.NewRequestWithContext(ctx, "GET", "http://"+strings.ReplaceAll(name, " ", "-")+".test/", nil)
			response, err := (&http.Client{Transport: &Transport{Queue: queue, Base: base}}).Do(request)
			if err != nil || response.StatusCode != 503 || time.Since(startedAt) != 0 {
				t.Errorf("%s: %v %v after %s", name, response, err, time.Since(startedAt))
			}
		}
		if base.count() != 3 {
			t.Errorf("%d attempts", base.count())
		}
	})
}

func TestOfACallerThatHasLeftNothingIsSentAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{handle: func(int, *http.Request) (*http.Response, error) { return answer(503, "Retry-After", "5"), nil }}
		queue := newQueue(t, Options{})
		ctx, cancel := context.WithCancelCause(context.Background())
		reason := errors.New("the user went home")
		time.AfterFunc(time.Second, func() { cancel(reason) })
		request, _ := http.NewRequestWithContext(ctx, "GET", "http://api.test/", nil)
		_, err := (&http.Client{Transport: &Transport{Queue: queue, Base: base}}).Do(request)
		if !errors.Is(err, reason) {
			t.Fatalf("got %v", err)
		}
		time.Sleep(10 * time.Minute)
		if base.count() != 1 || len(queue.tasks) != 0 {
			t.Fatalf("%d attempts, %d tasks", base.count(), len(queue.tasks))
		}
	})
}

// down has calls fail until the circuit is open beyond doubt: an opening that may be bad luck lets callers through to see.
func down(t *testing.T, queue *Queue, base http.RoundTripper) {
	t.Helper()
	c := &http.Client{Transport: &Transport{Queue: queue, Base: base}}
	isOpen := func() bool {
		queue.lock()
		defer queue.unlock()
		l := queue.lanes[origin{"http", "api.test"}]
		return l != nil && queue.core.ask(opCircuit, l.handle, queue.now())[0] == circuitOpen
	}
	for n := range 2000 {
		if n > 60 && isOpen() {
			return
		}
		request, _ := http.NewRequestWithContext(WithWait(context.Background(), 100*time.Millisecond), "GET", "http://api.test/", nil)
		if response, err := c.Do(request); err == nil {
			response.Body.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the circuit did not open")
}

func TestACircuitThatIsOpenBeyondTheWaitIsAnErrorAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(n int, request *http.Request) (*http.Response, error) {
			<-request.Context().Done()
			return nil, context.Cause(request.Context())
		}
		base := &script{handle: hang}
		queue := newQueue(t, Options{})
		down(t, queue, base)
		before, startedAt := base.count(), time.Now()
		request, _ := http.NewRequestWithContext(WithWait(context.Background(), time.Millisecond), "POST", "http://api.test/", strings.NewReader("tea"))
		_, err := (&http.Client{Transport: &Transport{Queue: queue, Base: base}}).Do(request)
		var open *CircuitOpenError
		if !errors.As(err, &open) || !errors.Is(err, ErrCircuitOpen) || errors.Is(err, ErrQueueFull) {
			t.Fatalf("got %v", err)
		}
		if open.Origin != "http://api.test" || open.Method != "POST" || !open.Until.After(time.Now()) || time.Since(startedAt) != 0 || base.count() != before {
			t.Fatalf("%+v after %s and %d attempts", open, time.Since(startedAt), base.count()-before)
		}
	})
}

func TestCallersAtTheDoorAreLetInOnceTheServerIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var isUp atomic.Bool
		base := &script{handle: func(_ int, request *http.Request) (*http.Response, error) {
			if isUp.Load() {
				return answer(200), nil
			}
			<-request.Context().Done()
			return nil, context.Cause(request.Context())
		}}
		var log bytes.Buffer
		queue := newQueue(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		down(t, queue, base)
		goroutines := runtime.NumGoroutine()
		var calls sync.WaitGroup
		var failed atomic.Int32
		for range 200 {
			calls.Go(func() {
				response, err := (&http.Client{Transport: &Transport{Queue: queue, Base: base}}).Get("http://api.test/")
				if err != nil || response.StatusCode != 200 {
					failed.Add(1)
				}
			})
		}
		synctest.Wait()
		if more := runtime.NumGoroutine() - goroutines; more > 210 {
			t.Errorf("200 callers wait with %d goroutines", more)
		}
		isUp.Store(true)
		calls.Wait()
		if failed.Load() != 0 {
			t.Errorf("%d of 200 failed", failed.Load())
		}
		synctest.Wait()
		for _, words := range []string{"origin=http://api.test from=CLOSED to=OPEN", "to=CLOSED"} {
			if !strings.Contains(log.String(), words) {
				t.Errorf("the log has no %q:\n%s", words, log.String())
			}
		}
	})
}

func TestACallerMayLeaveTheDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{handle: func(_ int, request *http.Request) (*http.Response, error) {
			<-request.Context().Done()
			return nil, context.Cause(request.Context())
		}}
		queue := newQueue(t, Options{})
		down(t, queue, base)
		before := base.count()
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Millisecond, cancel)
		request, _ := http.NewRequestWithContext(ctx, "GET", "http://api.test/", nil)
		_, err := (&http.Client{Transport: &Transport{Queue: queue, Base: base}}).Do(request)
		if !errors.Is(err, context.Canceled) || base.count() != before || len(queue.tasks) != 0 {
			t.Fatalf("%v after %d attempts, %d tasks", err, base.count()-before, len(queue.tasks))
		}
	})
}

func TestIdleOriginsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := newQueue(t, Options{})
		base := &script{handle: func(int, *http.Request) (*http.Response, error) { return answer(404), nil }}
		c := &http.Client{Transport: &Transport{Queue: queue, Base: base}}
		for i := range 3 * mostLanes {
			get(t, c, fmt.Sprintf("http://h%d.test/", i))
			time.Sleep(time.Second)
		}
		if count := len(queue.lanes); count > mostLanes+100 || count != len(queue.named) {
			t.Fatalf("%d lanes, %d by their handles", count, len(queue.named))
		}
	})
}

func TestAnAttemptAfterOneWithoutAnAnswerHasTwiceItsLimit(t *testing.T) {
	for _, limit := range []time.Duration{0, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			base := &script{handle: func(_ int, request *http.Request) (*http.Response, error) {
				select {
				case <-time.After(15 * time.Second):
					return answer(200), nil
				case <-request.Context().Done():
					return nil, context.Cause(request.Context())
				}
			}}
			request, _ := http.NewRequest("GET", "http://api.test/", nil)
			response, err := (&Transport{Queue: newQueue(t, Options{Policy: Policy{AttemptTimeout: limit}}), Base: base}).RoundTrip(request)
			if limit == 0 && (err != nil || response.StatusCode != 200 || base.count() != 2) {
				t.Errorf("%v, %v after %d attempts", response, err, base.count())
			} else if limit != 0 && (err == nil || base.count() != 3) {
				t.Errorf("with a limit: %v, %v after %d attempts", response, err, base.count())
			}
		})
	}
}

func TestAServerThatAnswersNoOneFindsEachRequestOnceWhenItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goesOn := time.Now().Add(20 * time.Second)
		base := &script{handle: func(_ int, request *http.Request) (*http.Response, error) {
			select {
			case <-request.Context().Done():
				return nil, context.Cause(request.Context())
			case <-time.After(time.Until(goesOn)):
				return answer(200), nil
			}
		}}
		client := &http.Client{Transport: &Transport{Queue: newQueue(t, Options{}), Base: base}}
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() {
				if response := get(t, client, "http://api.test/"); response.StatusCode != 200 || time.Since(goesOn) > 3*time.Second {
					t.Errorf("%d, %s after the server went on", response.StatusCode, time.Since(goesOn))
				}
			})
			time.Sleep(50 * time.Millisecond)
		}
		calls.Wait()
		if sent := base.count(); sent > 112 {
			t.Errorf("100 calls took %d requests", sent)
		}
	})
}
