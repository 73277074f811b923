package redrive

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Dialect is the kind of a database.
type Dialect int

const (
	// Postgres, from version 10 on.
	Postgres Dialect = iota + 1
	// SQLite, from version 3.35 on.
	SQLite
)

const (
	// claimed tasks are taken at a time, and posted beside each other.
	claimed = 16
	// claimTime is how long others leave them alone. A relay that died has them again after it.
	claimTime = 15 * time.Second
	// A task that the service did not take waits for as long again as it has waited, within these.
	shortestPause, longestPause = time.Second, time.Minute
	// idle is how often an empty table is looked at.
	idle = 500 * time.Millisecond
)

// Outbox puts tasks into the caller's own database, in the caller's own transaction, and has the service make them: a task is made if and
// only if its transaction commits, whatever dies when. It needs a table: [Outbox.Schema].
type Outbox struct {
	queue *Queue
	db    *sql.DB
	// Before the number of an argument.
	mark string
	// Behind the choice of rows to update.
	lock    string
	dialect Dialect
}

// NewOutbox makes an outbox in a database. The queue's core says what may be stored, and its Options.Service takes the tasks; a program that
// only adds tasks needs no service. It gives an [*OptionError] for a wrong dialect, or where there is no queue or database.
func NewOutbox(queue *Queue, db *sql.DB, dialect Dialect) (*Outbox, error) {
	o := &Outbox{queue: queue, db: db, dialect: dialect}
	switch {
	case queue == nil || db == nil:
		return nil, &OptionError{"NewOutbox", "expected a queue of redrive.New and a *sql.DB, got nil"}
	case dialect == Postgres:
		o.mark, o.lock = "$", " FOR UPDATE SKIP LOCKED"
	case dialect == SQLite:
		o.mark = "?"
	default:
		return nil, &OptionError{"NewOutbox", fmt.Sprintf("expected the dialect redrive.Postgres or redrive.SQLite, got %d", dialect)}
	}
	return o, nil
}

// Schema is the SQL that makes the table, if it is not there. Times are epoch milliseconds. Its constraint is there for the index: an index
// of its own, made at each start, would wait for transactions that are open.
//
// A row whose `failed` says why was refused by the service for good. UPDATE redrive_outbox SET failed = NULL has it posted again, and
// DELETE forgets it.
func (o *Outbox) Schema() string {
	id := "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
	if o.dialect == SQLite {
		id = "INTEGER PRIMARY KEY AUTOINCREMENT"
	}
	return "CREATE TABLE IF NOT EXISTS redrive_outbox (id " + id +
		", task TEXT NOT NULL, created_at BIGINT NOT NULL, taken_until BIGINT NOT NULL DEFAULT 0, failed TEXT, UNIQUE (taken_until, id))"
}

// Execer is what a task is added with: a *sql.Tx, so that it shares the fate of all else in the transaction, or a *sql.Conn with one.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Add puts a task into a transaction. It gives a [*NotStorableError] for a task that may not be stored, and the errors of the database.
func (o *Outbox) Add(ctx context.Context, tx Execer, task Task) error {
	text, err := o.queue.taskText(task)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, o.sql("INSERT INTO redrive_outbox (task, created_at) VALUES (@1, @2)"), string(text), time.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("redrive: the task could not be added to redrive_outbox: %w", err)
	}
	return nil
}

// Relay posts what is in the table to the service, until the context ends, and gives its error then. Any number of relays may run. What it
// cannot do now is logged and tried again: a service or a database that is down loses nothing. A task that was not taken waits for as long
// again as it has waited, a minute at most, and holds up no other. It gives [ErrNoService] where there is none.
func (o *Outbox) Relay(ctx context.Context) error {
	if o.queue.service == nil {
		return ErrNoService
	}
	for {
		count, err := o.pass(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if o.queue.isEnded() {
			return ErrClosed
		}
		if err != nil {
			o.queue.log.ErrorContext(ctx, "redrive: tasks wait in the outbox", "error", err.Error())
		}
		if count == claimed && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(idle):
		}
	}
}

// row is a task in the table.
type row struct {
	id   int64
	task string
	err  error
}

// pass posts some tasks, and says how many it found.
func (o *Outbox) pass(ctx context.Context) (int, error) {
	rows, err := o.claim(ctx)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	// no longer than they are left alone
	posting, cancel := context.WithTimeout(ctx, claimTime/2)
	defer cancel()
	var posts sync.WaitGroup
	for i := range rows {
		posts.Go(func() { _, rows[i].err = o.queue.service.post(posting, []byte(rows[i].task)) })
	}
	posts.Wait()
	return len(rows), o.note(ctx, rows)
}

// claim takes tasks that no other relay has.
func (o *Outbox) claim(ctx context.Context) ([]row, error) {
	now := time.Now()
	found, err := o.db.QueryContext(ctx, o.sql("UPDATE redrive_outbox SET taken_until = @1 WHERE id IN (SELECT id FROM redrive_outbox"+
		" WHERE taken_until <= @2 AND failed IS NULL ORDER BY taken_until, id LIMIT @3"+o.lock+") RETURNING id, task"),
		now.Add(claimTime).UnixMilli(), now.UnixMilli(), claimed)
	if err != nil {
		return nil, fmt.Errorf("redrive: redrive_outbox could not be read: %w", err)
	}
	defer found.Close()
	var rows []row
	for found.Next() {
		var r row
		if err := found.Scan(&r.id, &r.task); err != nil {
			return nil, fmt.Errorf("redrive: redrive_outbox could not be read: %w", err)
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.id, b.id) })
	return rows, found.Err()
}

// note writes down what became of them. What the service has is deleted only now: it knows a task that comes again by its key.
func (o *Outbox) note(ctx context.Context, rows []row) error {
	var done, again []string
	var first error
	for _, r := range rows {
		id := strconv.FormatInt(r.id, 10)
		var refused *ServiceError
		switch {
		case r.err == nil:
			done = append(done, id)
		case errors.As(r.err, &refused) && refused.IsFinal():
			o.queue.log.ErrorContext(ctx, "redrive: the service refused a task for good; it stays in redrive_outbox", "id", r.id, "error", refused.Error())
			if _, err := o.db.ExecContext(ctx, o.sql("UPDATE redrive_outbox SET failed = @1 WHERE id = @2"), refused.Error(), r.id); err != nil {
				first = cmp.Or(first, err)
			}
		default:
			again = append(again, id)
			first = cmp.Or(first, r.err)
		}
	}
	pause := fmt.Sprintf("UPDATE redrive_outbox SET taken_until = %[1]d + CASE WHEN %[1]d - created_at < %[2]d THEN %[2]d"+
		" WHEN %[1]d - created_at > %[3]d THEN %[3]d ELSE %[1]d - created_at END WHERE id IN ",
		time.Now().UnixMilli(), shortestPause.Milliseconds(), longestPause.Milliseconds())
	for _, change := range []struct {
		ids []string
		sql string
	}{{done, "DELETE FROM redrive_outbox WHERE id IN "}, {again, pause}} {
		if len(change.ids) > 0 {
			if _, err := o.db.ExecContext(ctx, change.sql+"("+strings.Join(change.ids, ", ")+")"); err != nil {
				first = cmp.Or(first, err)
			}
		}
	}
	return first
}

// sql writes arguments as the dialect has them.
func (o *Outbox) sql(text string) string { return strings.ReplaceAll(text, "@", o.mark) }
