package redrive

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"math"
	"time"
)

const (
	defaultWait = 30 * time.Second
	// mostLanes is from how many on idle ones are forgotten.
	mostLanes = 1000
	// longestSleep of the timer, which a far moment has to be armed for anew.
	longestSleep = 24 * time.Hour
)

// Queue is what all requests of a program share: tasks that wait for their next attempt, and what is known of each origin. It is safe for
// concurrent use. A program needs one; make it with [New].
type Queue struct {
	// The lock of the core guards everything below it.
	core *core
	// Why nothing is decided here any more; nil: the queue is open.
	ended error
	tasks map[float64]*task
	lanes map[origin]*lane
	// When each server last answered a first attempt, whether or not the core heard of it.
	answeredAt map[origin]float64
	named      map[float64]*lane
	wake       *time.Timer
	// When the timer comes; 0: it has come.
	wakeAt float64
	// What is logged once the lock is free: a handler may be slow, or call the queue.
	news []slog.Record

	options              Options
	foreground, deferred heldPolicy
	startedAt            time.Time
	log                  *slog.Logger
	service              *serviceClient
	limits               limits
	// Ends the attempts of deferred requests.
	context context.Context
	cancel  context.CancelFunc
}

// origin is a scheme and an authority, in lower case and without a default port.
type origin struct{ scheme, host string }

func (o origin) String() string { return o.scheme + "://" + o.host }

// lane is an origin as the core knows it.
type lane struct {
	handle float64
	origin origin
	// The state of its circuit, as the core has reported it last.
	circuit int
}

// New makes a queue. It gives an [*OptionError] for a wrong option.
func New(options Options) (*Queue, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	c, err := newCore()
	if err != nil {
		return nil, err
	}
	q := &Queue{
		core:       c,
		options:    options,
		tasks:      map[float64]*task{},
		lanes:      map[origin]*lane{},
		answeredAt: map[origin]float64{},
		named:      map[float64]*lane{},
		startedAt:  time.Now(),
		log:        options.Logger,
	}
	q.context, q.cancel = context.WithCancel(context.Background())
	if err := q.begin(); err != nil {
		c.close()
		return nil, err
	}
	if options.Service != nil {
		q.service = newServiceClient(q, *options.Service)
	}
	return q, nil
}

// begin sets the core up.
func (q *Queue) begin() (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			fault, isFault := thrown.(coreFault)
			if !isFault {
				panic(thrown)
			}
			err = fault.error
		}
	}()
	c, o := q.core, q.options
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // it never fails
	high, low := binary.LittleEndian.Uint32(seed[:4]), binary.LittleEndian.Uint32(seed[4:])
	c.add(opNew, float64(o.Concurrency), float64(o.PerOrigin), float64(o.Capacity), float64(o.CapacityBytes),
		math.Max(0, milliseconds(o.MaxLaneHold)), float64(high), float64(low))
	// the rules are the core's own; a storm is logged, and lanes come back as few clients make them
	c.add(opGates, notGiven, notGiven, notGiven, notGiven, onStormTell, notGiven, notGiven, notGiven, comebackOfFew, 1)
	c.add(opSetWhenOpen, 1)
	c.run()
	if q.foreground, err = o.Policy.hold(c, "Options.Policy", "interactive"); err != nil {
		return err
	}
	q.deferred, err = o.Background.hold(c, "Options.Background", "background")
	return err
}

// Close ends the queue. A waiting caller gets the last answer to its request, or [ErrClosed] where there is none. Deferred requests that
// are in memory are lost, and counted in the log. Close gives nil.
func (q *Queue) Close() error {
	q.lock()
	defer q.unlock()
	if q.ended != ErrClosed {
		q.stop(ErrClosed)
		q.core.close()
	}
	return nil
}

// stop ends all that waits. The queue is locked.
func (q *Queue) stop(reason error) {
	q.ended = reason
	q.cancel()
	if q.wake != nil {
		q.wake.Stop()
	}
	lost := 0
	for _, t := range q.tasks {
		if t.background != nil {
			lost++
		} else {
			t.actions <- stopped
		}
	}
	clear(q.tasks)
	if lost > 0 {
		q.report(slog.LevelError, "redrive: deferred requests were lost: the queue has ended, and they were in memory", "count", lost, "reason", reason.Error())
	}
}

func (q *Queue) lock() { q.core.Lock() }

// unlock is to be deferred. A core that failed decides nothing any more: what waits gets what there is, and later requests are sent once,
// as without redrive.
func (q *Queue) unlock() {
	if thrown := recover(); thrown != nil {
		fault, isFault := thrown.(coreFault)
		if !isFault {
			q.core.Unlock()
			panic(thrown)
		}
		q.report(slog.LevelError, "redrive: the core failed; requests are sent once from now on", "error", fault.Error())
		q.stop(fault)
	}
	news := q.news
	q.news = nil
	q.core.Unlock()
	for _, record := range news {
		if q.log.Enabled(context.Background(), record.Level) {
			_ = q.log.Handler().Handle(context.Background(), record)
		}
	}
}

func (q *Queue) report(level slog.Level, message string, attributes ...any) {
	record := slog.NewRecord(time.Now(), level, message, 0)
	record.Add(attributes...)
	q.news = append(q.news, record)
}

// now is the time in epoch milliseconds, on a clock that never goes back.
func (q *Queue) now() float64 {
	return float64(q.startedAt.UnixMilli() + time.Since(q.startedAt).Milliseconds())
}

// at is the time of an instant of that clock; the zero time: never, or none.
func (q *Queue) at(ms float64) time.Time {
	if math.IsNaN(ms) || math.IsInf(ms, 0) || ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms))
}

// add puts the look at what is due behind the other calls of a run; follow reads its answers. The queue is locked, as for all below.
func (q *Queue) add() {
	q.core.add(opPoll, q.now())
	q.core.add(opWakeAt)
}

// follow does what the core wishes, and sets the timer for the next moment that matters.
func (q *Queue) follow() {
	for {
		wishes := q.core.next()
		for i := 1; i+1 < len(wishes); i += 2 {
			q.act(wishes[i], wishes[i+1])
		}
		isAll := wishes[0] < batch
		q.arm(q.core.next()[0])
		if isAll {
			return
		}
		q.add()
		q.core.run()
	}
}

// look asks what is due.
func (q *Queue) look() {
	q.add()
	q.core.run()
	q.follow()
}

func (q *Queue) act(handle, action float64) {
	if action > 0 && action < letIn || action >= storm {
		q.reportLane(handle, action)
		return
	}
	t := q.tasks[handle]
	if t == nil {
		return
	}
	if action != 0 {
		delete(q.tasks, handle)
	}
	switch {
	case t.background == nil:
		t.actions <- action
	case action == 0:
		go t.background.goOn(t)
	default:
		q.reportKept(t.background, nextExhausted, action-ended)
	}
}

func (q *Queue) reportLane(handle, action float64) {
	l := q.named[handle]
	if l == nil {
		return
	}
	if action >= storm {
		q.report(slog.LevelWarn, "redrive: retry storm", "origin", l.origin.String(), "failuresPerSuccess", action-storm)
		return
	}
	change := int(action) - 1
	l.circuit = change % len(circuits)
	level := slog.LevelInfo
	if l.circuit == circuitOpen {
		level = slog.LevelWarn
	}
	q.report(level, "redrive: circuit", "origin", l.origin.String(), "from", circuits[change/len(circuits)], "to", circuits[l.circuit])
}

func (q *Queue) arm(at float64) {
	if at == q.wakeAt {
		return
	}
	q.wakeAt = at
	if math.IsInf(at, 1) {
		if q.wake != nil {
			q.wake.Stop()
		}
		return
	}
	delay := time.Duration(math.Min(math.Max(0, at-q.now()), milliseconds(longestSleep))) * time.Millisecond
	if q.wake == nil {
		q.wake = time.AfterFunc(delay, q.tick)
	} else {
		q.wake.Reset(delay)
	}
}

func (q *Queue) tick() {
	q.lock()
	defer q.unlock()
	if q.ended != nil {
		return
	}
	q.wakeAt = 0
	q.look()
}

// laneOf is the lane of an origin, which is made where there is none.
func (q *Queue) laneOf(o origin) *lane {
	if l := q.lanes[o]; l != nil {
		return l
	}
	if len(q.lanes) >= mostLanes {
		q.forgetLanes()
	}
	l := &lane{handle: q.core.ask(opLane)[0], origin: o}
	q.lanes[o], q.named[l.handle] = l, l
	return l
}

// forgetLanes looks at two of them, in no order: so more are forgotten than come, and those that the core has a use for stay.
func (q *Queue) forgetLanes() {
	looks := 2
	for o, l := range q.lanes {
		if looks--; looks < 0 {
			return
		}
		if q.core.ask(opDropLane, l.handle)[0] == 1 {
			delete(q.lanes, o)
			delete(q.named, l.handle)
		}
	}
}

// circuitOpen is the error of a call that may not be sent.
func (q *Queue) circuitOpen(c *call, l *lane, isFull bool) error {
	opening := q.core.ask(opOpening, l.handle, q.now())
	return &CircuitOpenError{Method: c.request.Method, Origin: c.origin.String(), Until: q.at(opening[1]), IsFull: isFull}
}
