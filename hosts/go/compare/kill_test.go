package compare

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	redrive "github.com/redrive-dev/redrive/hosts/go"
)

// A kill run: processes that write orders and tasks in one transaction, and processes that relay them to a real service, all killed again
// and again. Each is this test's binary, in a role.
//
//	REDRIVE_SERVICE=…/pkg-service REDRIVE_KILLS=200 go test -run Kill -v
const (
	roleVariable   = "REDRIVE_TEST_ROLE"
	fileVariable   = "REDRIVE_TEST_FILE"
	addressVar     = "REDRIVE_TEST_ADDRESS"
	lifeVariable   = "REDRIVE_TEST_LIFE"
	betweenOrders  = 2 * time.Millisecond
	longestLife    = 250 * time.Millisecond
	longestDrain   = 2 * time.Minute
	rolledBackEach = 5
)

func TestMain(m *testing.M) {
	var err error
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(m.Run())
	case "writer":
		err = write(os.Getenv(fileVariable), os.Getenv(addressVar), os.Getenv(lifeVariable))
	case "relay":
		err = relay(os.Getenv(fileVariable), os.Getenv(addressVar))
	default:
		err = errors.New("no such role: " + role)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func prepare(file, service string) (*sql.DB, *redrive.Outbox, error) {
	db, err := sql.Open("sqlite", sqliteAt(file))
	if err != nil {
		return nil, nil, err
	}
	options := redrive.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	if service != "" {
		options.Service = &redrive.Service{URL: service}
	}
	queue, err := redrive.New(options)
	if err != nil {
		return nil, nil, err
	}
	outbox, err := redrive.NewOutbox(queue, db, redrive.SQLite)
	if err != nil {
		return nil, nil, err
	}
	if _, err = db.Exec(outbox.Schema() + "; CREATE TABLE IF NOT EXISTS orders (key TEXT PRIMARY KEY)"); err != nil {
		return nil, nil, err
	}
	fmt.Println("ready")
	return db, outbox, nil
}

// write makes orders until it dies. Each fifth is rolled back.
func write(file, target, life string) error {
	db, outbox, err := prepare(file, "")
	if err != nil {
		return err
	}
	for i := 1; ; i++ {
		key := fmt.Sprintf("%s-%d", life, i)
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO orders (key) VALUES (?)", key); err != nil {
			return err
		}
		if err := outbox.Add(context.Background(), tx, redrive.Task{URL: target + "/orders", Key: key, Body: []byte(key)}); err != nil {
			return err
		}
		if i%rolledBackEach == 0 {
			err = tx.Rollback()
		} else {
			err = tx.Commit()
		}
		if err != nil {
			return err
		}
		time.Sleep(betweenOrders)
	}
}

func relay(file, service string) error {
	_, outbox, err := prepare(file, service)
	if err != nil {
		return err
	}
	return outbox.Relay(context.Background())
}

// target is the server that tasks are for.
type target struct {
	*httptest.Server
	mu     sync.Mutex
	bodies map[string][]string
}

func newTarget(t *testing.T) *target {
	s := &target{bodies: map[string][]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		s.bodies[key] = append(s.bodies[key], string(body))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *target) keys() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// startService starts `redrive serve`, and gives its address.
func startService(t *testing.T, folder string) string {
	t.Helper()
	command := exec.Command("node", filepath.Join(folder, "cli.js"), "serve", "--port", "0", "--store", "sqlite:"+filepath.Join(t.TempDir(), "service.db"))
	command.Dir = t.TempDir()
	var errors strings.Builder
	command.Stderr = &errors
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
	})
	address := regexp.MustCompile(`http://127\.0\.0\.1:[1-9]\d*`)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if found := address.FindString(lines.Text()); found != "" && strings.Contains(lines.Text(), "listening") {
			go io.Copy(io.Discard, out)
			return found
		}
	}
	t.Fatalf("the service of %s did not start: %s", folder, errors.String())
	return ""
}

// life starts this binary in a role.
func life(t *testing.T, role, file, address string, n int) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), roleVariable+"="+role, fileVariable+"="+file, addressVar+"="+address, lifeVariable+"="+strconv.Itoa(n))
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Error(err)
		return nil, nil
	}
	if err := command.Start(); err != nil {
		t.Error(err)
		return nil, nil
	}
	return command, bufio.NewReader(out)
}

// killAgainAndAgain runs lives of a role one after another, and ends each with SIGKILL: some while they start, most while they work.
func killAgainAndAgain(t *testing.T, role, file, address string, kills int) {
	for n := range kills {
		command, out := life(t, role, file, address, n)
		if command == nil {
			return
		}
		if n%10 != 0 {
			if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
				t.Errorf("%s %d: %q %v", role, n, line, err)
			}
		}
		time.Sleep(rand.N(longestLife))
		command.Process.Kill()
		command.Wait()
		if code := command.ProcessState.ExitCode(); code != -1 {
			t.Errorf("%s %d ended by itself with %d", role, n, code)
		}
	}
}

func TestKilledWritersAndRelaysLoseNoTaskAndDoubleNone(t *testing.T) {
	folder := os.Getenv("REDRIVE_SERVICE")
	if folder == "" {
		t.Skip("REDRIVE_SERVICE is not set: give the folder of a built service, such as pkg-service after `npm run build`")
	}
	kills := 20
	if given, err := strconv.Atoi(os.Getenv("REDRIVE_KILLS")); err == nil {
		kills = given
	}
	goal := newTarget(t)
	service := startService(t, folder)
	file := filepath.Join(t.TempDir(), "app.db")
	startedAt := time.Now()
	var crew sync.WaitGroup
	crew.Go(func() { killAgainAndAgain(t, "writer", file, goal.URL, kills/2) })
	crew.Go(func() { killAgainAndAgain(t, "relay", file, service, kills-kills/2) })
	crew.Wait()
	took := time.Since(startedAt)

	db := open(t, "sqlite", sqliteAt(file))
	found, err := db.Query("SELECT key FROM orders")
	if err != nil {
		t.Fatal(err)
	}
	orders := map[string]bool{}
	for found.Next() {
		var key string
		if err := found.Scan(&key); err != nil {
			t.Fatal(err)
		}
		orders[key] = true
	}
	found.Close()
	left := rowsIn(t, db, "1 = 1")
	last, _ := life(t, "relay", file, service, kills)
	defer func() {
		last.Process.Kill()
		last.Wait()
	}()
	for deadline := time.Now().Add(longestDrain); time.Now().Before(deadline) && (rowsIn(t, db, "1 = 1") > 0 || goal.keys() < len(orders)); {
		time.Sleep(50 * time.Millisecond)
	}

	goal.mu.Lock()
	defer goal.mu.Unlock()
	lost, doubled, foreign := 0, 0, 0
	for key := range orders {
		if len(goal.bodies[key]) == 0 {
			lost++
		}
	}
	for key, bodies := range goal.bodies {
		doubled += len(bodies) - 1
		if !orders[key] || bodies[0] != key {
			foreign++
		}
	}
	t.Logf("%d kills in %s: %d orders, %d of them still in the outbox after the last kill; lost %d, doubled %d, without an order %d, left in the outbox %d",
		kills, took.Round(time.Second), len(orders), left, lost, doubled, foreign, rowsIn(t, db, "1 = 1"))
	if len(orders) < kills/2 || lost != 0 || doubled != 0 || foreign != 0 || rowsIn(t, db, "1 = 1") != 0 {
		t.Fail()
	}
}
