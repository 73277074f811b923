package redrive

import (
	"context"
	"log/slog"
)

// Places in nextKinds: what follows an attempt.
const (
	nextSucceeded = 0
	nextRetry     = 1
	nextReleased  = 2
	nextExhausted = 4
)

// stopped is what a waiting call hears, in place of an action of the core, when its queue has ended.
const stopped = -1

// mostAnswered origins are remembered as having answered.
const mostAnswered = 1000

// mostUnheard successes wait for the next crossing.
const mostUnheard = 32

// task is a call that waits in the core: for its next attempt, or at the door of an origin whose circuit is open.
type task struct {
	handle float64
	// Actions, for a waiting caller. There is room for all that may come before it looks.
	actions chan float64
	// The call goes on without its caller.
	background *call
}

// pass waits at the door of an origin whose circuit is open. nil: the request may be sent.
func (c *call) pass(ctx context.Context) error {
	t, err := c.queue.enter(c)
	if t == nil {
		return err
	}
	action, err := t.wait(ctx)
	if err != nil {
		c.queue.leave(c, t)
		return err
	}
	if action == letIn {
		return nil
	}
	return c.queue.refused(c, action)
}

// wait gives what the core wishes, or why the caller waits no longer.
func (t *task) wait(ctx context.Context) (action float64, err error) {
	select {
	case action = <-t.actions:
		return action, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// enter asks whether a request may be sent. With a task: once that is let in. With an error: it may not. With neither: now.
func (q *Queue) enter(c *call) (*task, error) {
	q.lock()
	defer q.unlock()
	if q.ended != nil {
		return nil, q.refusal()
	}
	l := q.lanes[c.origin]
	// the core reports an opening at once, and lets all pass until then
	if l == nil || l.circuit == circuitClosed {
		return nil, nil
	}
	entry := q.core.ask(opCall, q.now(), l.handle, c.waitUntil, 0)[0]
	if entry == entrySent {
		return nil, nil
	}
	isFull := false
	if entry == entryWaits {
		handle := q.core.ask(opStand, q.now(), l.handle, c.policy.handle, 0, c.createdAt, never, c.waitUntil)[0]
		if handle != none {
			t := q.newTask(handle, nil)
			q.look()
			return t, nil
		}
		isFull = true
	}
	return nil, q.circuitOpen(c, l, isFull)
}

// refused is the error of a call that waited at the door, and was not let in.
func (q *Queue) refused(c *call, action float64) error {
	q.lock()
	defer q.unlock()
	if action == stopped || q.ended != nil {
		return q.refusal()
	}
	return q.circuitOpen(c, q.laneOf(c.origin), false)
}

// refusal is the error of a request to a queue that has ended. One whose core failed sends as without redrive.
func (q *Queue) refusal() error {
	if q.ended == ErrClosed {
		return ErrClosed
	}
	return nil
}

func (q *Queue) newTask(handle float64, background *call) *task {
	t := &task{handle: handle, background: background}
	if background == nil {
		t.actions = make(chan float64, 2)
	}
	q.tasks[handle] = t
	return t
}

// leave takes note that the caller of a task waits no longer.
func (q *Queue) leave(c *call, t *task) {
	q.lock()
	defer q.unlock()
	if q.ended != nil {
		return
	}
	if q.tasks[t.handle] != t {
		// it was let in, and might be the one that tries its server out
		if len(t.actions) > 0 && <-t.actions == letIn {
			now := q.now()
			q.hear(c, &finished{outcome: outcomeOwnError, began: now, delay: notGiven, limit: notGiven})
		}
		return
	}
	delete(q.tasks, t.handle)
	if q.core.ask(opCancel, t.handle)[0] == cancelRequested {
		// its start is on the way here, and nothing was sent
		q.settleTask(c, t, &finished{outcome: outcomeReleased, began: q.now(), delay: notGiven, limit: notGiven})
		return
	}
	q.look()
}

// judge says whether the core would try the request of a first attempt again. If not, the lane has heard of the attempt.
func (q *Queue) judge(c *call, e *finished) bool {
	q.lock()
	defer q.unlock()
	if q.ended != nil {
		return false
	}
	if e.response != nil {
		if len(q.answeredAt) >= mostAnswered {
			clear(q.answeredAt)
		}
		q.answeredAt[c.origin] = q.now()
	}
	isNews := e.response == nil && e.outcome != outcomeOwnError && !e.isLeft
	if e.response != nil {
		isNews = c.policy.isFailure(e.status) || e.response.Header["Ratelimit"] != nil
	}
	l := q.lanes[c.origin]
	// of an origin of which nothing is known, a success is no news
	if !isNews && l == nil {
		return false
	}
	if !isNews && e.response != nil {
		q.hearOfSuccess(c, l, e)
		return false
	}
	if e.isLeft {
		e.outcome = outcomeOwnError
	}
	if isNews {
		q.read(c, e)
		if q.core.ask(opClassify, c.policy.handle, e.outcome, float64(e.status), c.flags, e.asked)[0] == classRetry {
			return true
		}
	}
	q.hear(c, e)
	return false
}

// admit makes the call a task after its first attempt failed, and says whether it waits for another. nil: it does not. `first` nil: no
// attempt was made.
func (q *Queue) admit(c *call, first *finished) *task {
	q.lock()
	defer q.unlock()
	if q.ended != nil {
		return nil
	}
	began := notGiven
	if first != nil {
		began = first.began
	}
	handle := q.core.ask(opAdmit, q.now(), q.laneOf(c.origin).handle, c.policy.handle, 0, float64(c.bytes), c.flags, c.createdAt, never,
		c.waitUntil, none, began)[0]
	if handle == none {
		q.report(slog.LevelWarn, "redrive: a request is not tried again, since the queue is full", "origin", c.origin.String(),
			"capacity", q.options.Capacity, "capacityBytes", q.options.CapacityBytes)
		if first != nil {
			q.hear(c, first)
		}
		return nil
	}
	var background *call
	if c.kept != nil {
		background = c
	}
	t := q.newTask(handle, background)
	if first == nil {
		q.core.ask(opVisit, q.now(), q.laneOf(c.origin).handle)
		q.look()
	} else if !q.settleTask(c, t, first) {
		return nil
	}
	return t
}

// settle reports the end of a task's attempt, and says whether the task waits for another.
func (q *Queue) settle(c *call, t *task, e *finished) bool {
	q.lock()
	defer q.unlock()
	return q.ended == nil && q.settleTask(c, t, e)
}

// settleTask is settle where the queue is locked.
func (q *Queue) settleTask(c *call, t *task, e *finished) bool {
	if e.isLeft {
		q.core.ask(opCancel, t.handle)
	}
	q.read(c, e)
	isReplayed := e.response != nil && e.status >= 400 &&
		(e.response.Header.Get("Idempotent-Replayed") == "true" || e.response.Header.Get("Idempotency-Replayed") == "true")
	q.core.add(opSettle, q.now(), t.handle, e.outcome, float64(e.status), known(e.delay), e.took, e.limit, e.unusable, e.partitioned,
		saidNothing, notGiven, e.asked, bit(isReplayed), 0, none)
	q.add()
	q.core.run()
	next := q.core.next()
	kind, reason := int(next[0]), next[1+nextReason]
	waits := kind == nextRetry || kind == nextReleased
	if !waits {
		delete(q.tasks, t.handle)
		if c.kept != nil {
			q.reportKept(c, kind, reason)
		}
	}
	q.follow()
	return waits
}

// read has the core read what the headers of an answer ask for.
func (q *Queue) read(c *call, e *finished) {
	if e.response == nil {
		return
	}
	lines := waitLines(e.response.Header, c.policy.isFailure(e.status))
	if lines == "" {
		return
	}
	q.core.writeText(lines)
	said := q.core.ask(opSaid, float64(len(lines)), float64(e.status), bit(c.policy.isFailure(e.status)), q.now())
	e.delay, e.limit, e.partitioned, e.asked = said[0], said[1], said[2], said[3]
	e.unusable = bit(e.delay < 0)
}

// hear reports an attempt that made no task.
func (q *Queue) hear(c *call, e *finished) {
	q.core.later(opHeard, q.now(), q.laneOf(c.origin).handle, c.policy.handle, e.began, e.outcome, float64(e.status), known(e.delay), e.took,
		e.limit, e.partitioned, saidNothing, 0)
	q.look()
}

// lasts is until when an attempt goes on whose limit is over: a first one, t nil, since its server answers no call, another since one before
// it had no answer. 0: it is given up.
func (q *Queue) lasts(c *call, t *task, began, limitMs float64) float64 {
	q.lock()
	defer q.unlock()
	if q.ended != nil {
		return 0
	}
	if t != nil {
		return q.core.ask(opExtends, q.now(), t.handle, began, limitMs)[0]
	}
	return q.core.ask(opLasts, q.now(), q.laneOf(c.origin).handle, c.policy.handle, c.flags, began, q.answeredAt[c.origin], c.waitUntil)[0]
}

// hearOfSuccess reports one. Where nothing waits that it could help, it crosses with what is next to cross.
func (q *Queue) hearOfSuccess(c *call, l *lane, e *finished) {
	q.core.later(opHeard, q.now(), l.handle, c.policy.handle, e.began, e.outcome, float64(e.status), notGiven, e.took, notGiven, 0, saidNothing, 0)
	if l.circuit != circuitClosed || len(q.tasks) > 0 || q.core.unread >= mostUnheard {
		q.look()
	}
}

// known is a wait that the core could read.
func known(delay float64) float64 {
	if delay < 0 {
		return notGiven
	}
	return delay
}
