package compare

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	redrive "github.com/redrive-dev/redrive/hosts/go"
)

func TestADeferredRequestGoesOnInARealServiceUnderItsKey(t *testing.T) {
	folder := os.Getenv("REDRIVE_SERVICE")
	if folder == "" {
		t.Skip("REDRIVE_SERVICE is not set: give the folder of a built service, such as pkg-service after `npm run build`")
	}
	var mu sync.Mutex
	var keys, bodies []string
	goal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		keys, bodies = append(keys, r.Header.Get("Idempotency-Key")), append(bodies, string(body))
		if len(keys) == 1 {
			w.WriteHeader(503)
		}
	}))
	defer goal.Close()
	queue, err := redrive.New(redrive.Options{Service: &redrive.Service{URL: startService(t, folder)}, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	client := &http.Client{Transport: &redrive.Transport{Queue: queue, Defer: true}}
	response, err := client.Post(goal.URL+"/orders?a=1", "text/plain", strings.NewReader("tea"))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 202 || response.Header.Get("redrive-durability") != "strict" || response.Header.Get("redrive-task-id") == "" {
		t.Fatalf("%d %v", response.StatusCode, response.Header)
	}
	until(t, "the service has sent it", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(keys) == 2
	})
	if keys[0] == "" || keys[1] != keys[0] || bodies[1] != "tea" {
		t.Errorf("keys %q, bodies %q", keys, bodies)
	}
}
