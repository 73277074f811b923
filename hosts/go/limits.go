package redrive

import (
	"context"
	"sync"
	"time"
)

// limit is the end of the time that an attempt has.
type limit struct {
	at       time.Time
	number   int
	duration time.Duration
	cancel   context.CancelCauseFunc
	isOver   bool
	// lasts is asked when its time is up: until when the attempt goes on. nil: it does not.
	lasts func() time.Time
}

// limits are those of all attempts of a queue, under one timer: almost every attempt ends before its limit, and a timer for each would wake
// the poller of the network for each.
type limits struct {
	mu    sync.Mutex
	all   map[*limit]struct{}
	timer *time.Timer
	// When the timer comes; the zero time: it is not armed.
	at time.Time
}

// betweenLooks is the shortest time between two looks at all limits.
const betweenLooks = 2 * time.Millisecond

func (s *limits) put(l *limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*limit]struct{}{}
	}
	s.all[l] = struct{}{}
	if s.at.IsZero() || l.at.Before(s.at) {
		s.arm(l.at)
	}
}

// take takes the limit of an attempt away, and says whether it is over.
func (s *limits) take(l *limit) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, l)
	return l.isOver
}

func (s *limits) arm(at time.Time) {
	s.at = at
	if delay := time.Until(at); s.timer == nil {
		s.timer = time.AfterFunc(delay, s.look)
	} else {
		s.timer.Reset(delay)
	}
}

// look ends the attempts whose time is up, unless they go on.
func (s *limits) look() {
	for _, l := range s.due() {
		var until time.Time
		if l.lasts != nil {
			until = l.lasts()
		}
		s.end(l, until)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, next := time.Now(), time.Time{}
	for l := range s.all {
		if next.IsZero() || l.at.Before(next) {
			next = l.at
		}
	}
	s.at = time.Time{}
	if soonest := now.Add(betweenLooks); next.IsZero() {
		return
	} else if next.Before(soonest) {
		next = soonest
	}
	s.arm(next)
}

func (s *limits) due() (due []*limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for l := range s.all {
		if !l.at.After(now) {
			due = append(due, l)
		}
	}
	return due
}

// end ends an attempt that has not ended meanwhile, unless it goes on until then.
func (s *limits) end(l *limit, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, isThere := s.all[l]; !isThere {
		return
	}
	if until.After(time.Now()) {
		l.duration += until.Sub(l.at)
		l.at = until
		return
	}
	l.isOver = true
	delete(s.all, l)
	l.cancel(&AttemptTimeoutError{l.number, l.duration})
}
