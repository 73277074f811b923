package compare

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	redrive "github.com/redrive-dev/redrive/hosts/go"
	_ "modernc.org/sqlite"
)

// pretended is a service that answers as it is asked to, and remembers what it has taken.
type pretended struct {
	*httptest.Server
	mu    sync.Mutex
	taken map[string]int
	// The answer to the nth post of a key; nil: it is taken.
	answer func(key string, n int, w http.ResponseWriter) bool
}

func pretend(t *testing.T, answer func(key string, n int, w http.ResponseWriter) bool) *pretended {
	p := &pretended{taken: map[string]int{}, answer: answer}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var task struct{ IdempotencyKey, TargetURL string }
		text, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(text, &task); err != nil || r.URL.Path != "/retry-tasks" || task.IdempotencyKey != r.Header.Get("Idempotency-Key") {
			w.WriteHeader(400)
			return
		}
		p.mu.Lock()
		p.taken[task.IdempotencyKey]++
		n := p.taken[task.IdempotencyKey]
		p.mu.Unlock()
		if p.answer != nil && p.answer(task.IdempotencyKey, n, w) {
			return
		}
		w.WriteHeader(201)
		fmt.Fprintf(w, `{"taskId":"t-%s","durability":"strict","deduplicated":false}`, task.IdempotencyKey)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *pretended) count(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken[key]
}

func sqliteAt(path string) string {
	return "file:" + path + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"
}

func open(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func outboxOf(t testing.TB, db *sql.DB, dialect redrive.Dialect, url string, log *slog.Logger) *redrive.Outbox {
	t.Helper()
	options := redrive.Options{Policy: redrive.Policy{InitialDelay: time.Millisecond, MaxDelay: 5 * time.Millisecond}, Logger: log}
	if url != "" {
		options.Service = &redrive.Service{URL: url}
	}
	queue, err := redrive.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { queue.Close() })
	outbox, err := redrive.NewOutbox(queue, db, dialect)
	if err != nil {
		t.Fatal(err)
	}
	// twice, as each start of a program does
	for range 2 {
		if _, err := db.Exec(outbox.Schema()); err != nil {
			t.Fatal(err)
		}
	}
	return outbox
}

func rowsIn(t testing.TB, db *sql.DB, where string) (count int) {
	t.Helper()
	if err := db.QueryRow("SELECT count(*) FROM redrive_outbox WHERE " + where).Scan(&count); err != nil {
		t.Fatal(err)
	}
	return count
}

// until waits for what a relay does in the background.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

var quiet = slog.New(slog.DiscardHandler)

// databases are those that the tests have: SQLite, and the Postgres of REDRIVE_POSTGRES, such as postgres://postgres@127.0.0.1:5432/postgres.
func databases(t *testing.T, check func(t *testing.T, db *sql.DB, dialect redrive.Dialect)) {
	t.Run("SQLite", func(t *testing.T) {
		check(t, open(t, "sqlite", sqliteAt(filepath.Join(t.TempDir(), "app.db"))), redrive.SQLite)
	})
	t.Run("Postgres", func(t *testing.T) {
		dsn := os.Getenv("REDRIVE_POSTGRES")
		if dsn == "" {
			t.Skip("REDRIVE_POSTGRES is not set: give the address of a Postgres that the tests may use")
		}
		db := open(t, "pgx", dsn)
		for _, table := range []string{"redrive_outbox", "orders"} {
			if _, err := db.Exec("DROP TABLE IF EXISTS " + table); err != nil {
				t.Fatal(err)
			}
		}
		check(t, db, redrive.Postgres)
	})
}

func TestATaskExistsIfAndOnlyIfItsTransactionCommits(t *testing.T) {
	databases(t, func(t *testing.T, db *sql.DB, dialect redrive.Dialect) {
		service := pretend(t, nil)
		outbox := outboxOf(t, db, dialect, service.URL, quiet)
		for i := range 40 {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprintf("order-%d", i)
			if err := outbox.Add(context.Background(), tx, redrive.Task{URL: "https://api.test/orders", Key: key, Body: []byte(`{"n":1}`)}); err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				err = tx.Commit()
			} else {
				err = tx.Rollback()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 2)
		// two relays beside each other, as two processes have them
		other := outboxOf(t, db, dialect, service.URL, quiet)
		go func() { ended <- outbox.Relay(ctx) }()
		go func() { ended <- other.Relay(ctx) }()
		until(t, "the outbox is empty", func() bool { return rowsIn(t, db, "1 = 1") == 0 })
		cancel()
		for range 2 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("a relay ended with %v", err)
			}
		}
		for i := range 40 {
			if got := service.count(fmt.Sprintf("order-%d", i)); got != 1-i%2 {
				t.Errorf("order-%d was posted %d times", i, got)
			}
		}
	})
}

func TestAServiceThatIsAwayLosesNothing(t *testing.T) {
	databases(t, func(t *testing.T, db *sql.DB, dialect redrive.Dialect) {
		service := pretend(t, func(key string, n int, w http.ResponseWriter) bool {
			if n <= 7 {
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(503)
			}
			return n <= 7
		})
		outbox := outboxOf(t, db, dialect, service.URL, quiet)
		if err := outbox.Add(context.Background(), db, redrive.Task{URL: "https://api.test/orders", Key: "order-1"}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go outbox.Relay(ctx)
		until(t, "the outbox is empty", func() bool { return rowsIn(t, db, "1 = 1") == 0 })
		if got := service.count("order-1"); got != 8 {
			t.Errorf("%d posts", got)
		}
	})
}

func TestTasksThatTheServiceDoesNotTakeHoldUpNoOther(t *testing.T) {
	databases(t, func(t *testing.T, db *sql.DB, dialect redrive.Dialect) {
		service := pretend(t, func(key string, n int, w http.ResponseWriter) bool {
			if key != "good" {
				w.WriteHeader(403)
			}
			return key != "good"
		})
		outbox := outboxOf(t, db, dialect, service.URL, quiet)
		for i := range 41 {
			key := fmt.Sprintf("bad-%d", i)
			if i == 40 {
				key = "good"
			}
			if err := outbox.Add(context.Background(), db, redrive.Task{URL: "https://api.test/orders", Key: key}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go outbox.Relay(ctx)
		until(t, "the good one is gone", func() bool { return service.count("good") == 1 })
		// one that waits for longer is posted less often
		if _, err := db.Exec("UPDATE redrive_outbox SET created_at = created_at - 30000"); err != nil {
			t.Fatal(err)
		}
		until(t, "all wait for as long again", func() bool {
			return rowsIn(t, db, fmt.Sprintf("taken_until > %d", time.Now().Add(20*time.Second).UnixMilli())) == 40
		})
	})
}

func TestATaskThatTheServiceRefusesForGoodStaysWithItsReason(t *testing.T) {
	databases(t, func(t *testing.T, db *sql.DB, dialect redrive.Dialect) {
		service := pretend(t, func(key string, n int, w http.ResponseWriter) bool {
			if key == "bad" && n == 1 {
				w.WriteHeader(422)
				io.WriteString(w, `{"type":"urn:redrive:problem:policy-unknown","detail":"policyId: no policy 'imports'"}`)
				return true
			}
			return false
		})
		outbox := outboxOf(t, db, dialect, service.URL, quiet)
		for _, key := range []string{"bad", "good"} {
			if err := outbox.Add(context.Background(), db, redrive.Task{URL: "https://api.test/orders", Key: key}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go outbox.Relay(ctx)
		until(t, "one failed, one is gone", func() bool { return rowsIn(t, db, "failed IS NOT NULL") == 1 && rowsIn(t, db, "1 = 1") == 1 })
		var why string
		if err := db.QueryRow("SELECT failed FROM redrive_outbox").Scan(&why); err != nil || why != "redrive: the service answered 422 policy-unknown: policyId: no policy 'imports'" {
			t.Fatalf("%q %v", why, err)
		}
		if _, err := db.Exec("UPDATE redrive_outbox SET failed = NULL, taken_until = 0"); err != nil {
			t.Fatal(err)
		}
		until(t, "the outbox is empty", func() bool { return rowsIn(t, db, "1 = 1") == 0 })
		if service.count("bad") != 2 || service.count("good") != 1 {
			t.Errorf("%v", service.taken)
		}
	})
}

func TestACredentialNeverReachesTheTable(t *testing.T) {
	db := open(t, "sqlite", sqliteAt(filepath.Join(t.TempDir(), "app.db")))
	outbox := outboxOf(t, db, redrive.SQLite, "", quiet)
	err := outbox.Add(context.Background(), db, redrive.Task{URL: "https://api.test/", Header: http.Header{"Authorization": {"Bearer filler"}}})
	if !errors.Is(err, redrive.ErrNotStorable) || rowsIn(t, db, "1 = 1") != 0 {
		t.Errorf("%v", err)
	}
	if err := outbox.Relay(context.Background()); !errors.Is(err, redrive.ErrNoService) {
		t.Errorf("%v", err)
	}
	var wrong *redrive.OptionError
	if _, err := redrive.NewOutbox(nil, db, redrive.SQLite); !errors.As(err, &wrong) {
		t.Errorf("%v", err)
	}
}
