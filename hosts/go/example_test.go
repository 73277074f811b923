package redrive_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	redrive "github.com/redrive-dev/redrive/hosts/go"
)

// flaky answers 503 to the first request, and then with the method.
func flaky() *httptest.Server {
	var asked atomic.Int32
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, r.Method)
	}))
}

func Example() {
	server := flaky()
	defer server.Close()

	queue, err := redrive.New(redrive.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer queue.Close()
	client := &http.Client{Transport: &redrive.Transport{Queue: queue}}

	response, err := client.Get(server.URL)
	if errors.Is(err, redrive.ErrCircuitOpen) {
		log.Fatal("the server is down for longer than this call waits: ", err)
	}
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, string(body))
	// Output: 200 GET
}

func ExampleTransport_deferred() {
	server := flaky()
	defer server.Close()

	queue, err := redrive.New(redrive.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer queue.Close()
	client := &http.Client{Transport: &redrive.Transport{Queue: queue, Defer: true}}

	response, err := client.Post(server.URL, "text/plain", strings.NewReader("tea"))
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	fmt.Println(response.StatusCode, response.Header.Get("redrive-durability"))
	// Output: 202 memory
}

func ExampleOutbox() {
	var db *sql.DB // of a driver of your own
	ctx := context.Background()
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}

	queue, err := redrive.New(redrive.Options{Service: &redrive.Service{URL: "http://127.0.0.1:7733"}})
	check(err)
	outbox, err := redrive.NewOutbox(queue, db, redrive.Postgres) // or redrive.SQLite
	check(err)
	_, err = db.ExecContext(ctx, outbox.Schema())
	check(err)
	go outbox.Relay(ctx)
	tx, err := db.BeginTx(ctx, nil)
	check(err)
	_, err = tx.ExecContext(ctx, "INSERT INTO orders (sku) VALUES ('A-1')")
	check(err)
	err = outbox.Add(ctx, tx, redrive.Task{URL: "https://api.example.com/orders", Body: []byte(`{"sku":"A-1"}`)})
	check(err)
	err = tx.Commit()
	check(err)
}

func TestTheREADMEShowsWhatIsCompiledHere(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(readme), "```")
	checked := 0
	for i := 1; i < len(blocks); i += 2 {
		shown, isGo := strings.CutPrefix(blocks[i], "go\n")
		if !isGo {
			continue
		}
		for line := range strings.Lines(shown) {
			if checked++; !strings.Contains(string(code), strings.TrimSpace(line)) {
				t.Errorf("no example has %q", line)
			}
		}
	}
	if checked < 15 || strings.Count(string(readme), "\n") > 60 {
		t.Errorf("%d lines of code, %d lines", checked, strings.Count(string(readme), "\n"))
	}
}
