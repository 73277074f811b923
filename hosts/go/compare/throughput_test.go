package compare

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// figure is the median of a client: calls per second, and microseconds of processor time per call, its server's among them.
type figure struct{ rate, cpu float64 }

// figures runs the clients in turn, round by round, so that all of them meet the same machine.
func figures(t *testing.T, names []string, clients map[string]*http.Client, ask func(*http.Client) (*http.Response, error), calls, workers, rounds int) map[string]figure {
	t.Helper()
	rates, cpus := map[string][]float64{}, map[string][]float64{}
	for round := range rounds + 1 {
		for i := range names {
			// none is always the first, or behind the same other one
			name := names[(i+round)%len(names)]
			var next, bad atomic.Int64
			var crew sync.WaitGroup
			runtime.GC()
			startedAt, used := time.Now(), processorTime()
			for range workers {
				crew.Go(func() {
					for next.Add(1) <= int64(calls) {
						response, err := ask(clients[name])
						if err != nil {
							bad.Add(1)
							continue
						}
						io.Copy(io.Discard, response.Body)
						response.Body.Close()
						if response.StatusCode != 200 {
							bad.Add(1)
						}
					}
				})
			}
			crew.Wait()
			// one call in a hundred thousand meets five failures in a row
			if bad.Load() > 3 {
				t.Errorf("%s: %d of %d calls failed", name, bad.Load(), calls)
			}
			// the first round warms up
			if round > 0 {
				rates[name] = append(rates[name], float64(calls)/time.Since(startedAt).Seconds())
				cpus[name] = append(cpus[name], float64((processorTime()-used).Microseconds())/float64(calls))
			}
		}
	}
	medians := map[string]figure{}
	for _, name := range names {
		medians[name] = figure{median(rates[name]), median(cpus[name])}
	}
	return medians
}

func median(numbers []float64) float64 {
	slices.Sort(numbers)
	return numbers[len(numbers)/2]
}

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// TestThroughputBesideRetryablehttp prints figures where REDRIVE_FIGURES is set; elsewhere it runs a few calls and checks their answers.
func TestThroughputBesideRetryablehttp(t *testing.T) {
	calls, rounds := 200, 1
	if os.Getenv("REDRIVE_FIGURES") != "" {
		calls, rounds = 3_000, 25
	}
	for _, world := range []struct {
		name string
		// Each nth answer is a 503.
		fails int64
		isGet bool
	}{{"GET, all succeed", 0, true}, {"POST, all succeed", 0, false}, {"GET, one answer in ten is a 503", 10, true}, {"GET, all succeed after a failure", -1, true}} {
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			n := asked.Add(1)
			if world.fails > 0 && n%world.fails == 0 || world.fails < 0 && n <= 3 {
				w.WriteHeader(503)
			}
		}))
		clients := map[string]*http.Client{}
		names := []string{"net/http", "redrive", "go-retryablehttp"}
		for _, name := range names {
			transport := http.DefaultTransport.(*http.Transport).Clone()
			transport.MaxIdleConnsPerHost = 64
			defer transport.CloseIdleConnections()
			switch name {
			case "redrive":
				clients[name] = ours(t, transport)
			case "go-retryablehttp":
				clients[name] = theirs(t, transport)
			default:
				clients[name] = &http.Client{Transport: transport}
			}
		}
		compared := names
		if world.fails != 0 {
			compared = names[1:]
		}
		ask := func(client *http.Client) (*http.Response, error) {
			if world.isGet {
				return client.Get(server.URL)
			}
			return client.Post(server.URL, "text/plain", strings.NewReader("tea"))
		}
		medians := figures(t, compared, clients, ask, calls, 16, rounds)
		server.Close()
		line := fmt.Sprintf("%-36s", world.name)
		for _, name := range compared {
			line += fmt.Sprintf("  %s %.0f/s %.1f us", name, medians[name].rate, medians[name].cpu)
		}
		redrive, other := medians["redrive"], medians["go-retryablehttp"]
		t.Logf("%s  calls per second by those of go-retryablehttp %.2f, processor time %.2f", line, redrive.rate/other.rate, redrive.cpu/other.cpu)
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	done := &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		answer := *done
		return &answer, nil
	})
	for name, make := range map[string]func(testing.TB, http.RoundTripper) *http.Client{"redrive": ours, "go-retryablehttp": theirs} {
		b.Run(name, func(b *testing.B) {
			client := make(b, base)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.Post("http://api.test/", "text/plain", strings.NewReader("tea")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
