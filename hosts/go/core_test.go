package redrive

import (
	"errors"
	"math"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const vectors = "../../tests/vectors/"

func startCore(t testing.TB) *core {
	t.Helper()
	c, err := newCore()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

// callNames are the numbers of the calls, by their names in lower case, as the generated constants have them.
func callNames(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for _, found := range regexp.MustCompile(`(?m)^const op(\w+) = (\d+)$`).FindAllStringSubmatch(string(text), -1) {
		names[strings.ToLower(found[1])], _ = strconv.Atoi(found[2])
	}
	return names
}

type traceLine struct {
	text      string
	op        int
	arguments []float64
}

func readTrace(t *testing.T) []traceLine {
	t.Helper()
	text, err := os.ReadFile(vectors + "core-trace.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := callNames(t)
	var lines []traceLine
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		asked, _, _ := strings.Cut(line, " =")
		words := strings.Split(asked, " ")
		op, isKnown := names[strings.ToLower(words[0])]
		if !isKnown {
			t.Fatalf("no call %s", words[0])
		}
		parsed := traceLine{text: line, op: op}
		for _, word := range words[1:] {
			number, err := strconv.ParseFloat(word, 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			parsed.arguments = append(parsed.arguments, number)
		}
		lines = append(lines, parsed)
	}
	if len(lines) < 2000 {
		t.Fatalf("the trace has %d lines only", len(lines))
	}
	return lines
}

// written is a line as the trace has it.
func written(line traceLine, answer []float64) string {
	asked, _, _ := strings.Cut(line.text, " =")
	words := []string{asked + " ="}
	for _, number := range answer {
		if math.IsInf(number, 1) {
			words = append(words, "Infinity")
		} else {
			words = append(words, strconv.FormatFloat(number, 'f', -1, 64))
		}
	}
	return strings.Join(words, " ")
}

func TestS21TheRecordedWorldsReplayWordForWord(t *testing.T) {
	lines := readTrace(t)
	for _, together := range []int{1, 40} {
		c := startCore(t)
		for some := range slices.Chunk(lines, together) {
			for _, line := range some {
				c.add(line.op, line.arguments...)
			}
			c.run()
			for _, line := range some {
				if got := written(line, c.next()); got != line.text {
					t.Fatalf("%d calls in one run:\n%s\nanswered\n%s", together, line.text, got)
				}
			}
		}
	}
}

func TestACallThatCannotBeReadIsAFaultOfTheHost(t *testing.T) {
	c := startCore(t)
	defer func() {
		fault, isFault := recover().(coreFault)
		if !isFault || !strings.Contains(fault.Error(), "could not read") {
			t.Fatalf("got %v", fault)
		}
	}()
	c.ask(999)
	t.Fatal("no fault")
}

func TestACallForLaterIsMadeBeforeThoseOfTheNextRun(t *testing.T) {
	c := startCore(t)
	c.later(opLane)
	c.later(opLane)
	if lane := c.ask(opLane)[0]; lane != 2 {
		t.Fatalf("the third lane is %v", lane)
	}
	if lane := c.ask(opLane)[0]; lane != 3 {
		t.Fatalf("the fourth lane is %v", lane)
	}
}

func TestSuccessesAreHeardOfBeforeTheNextFailure(t *testing.T) {
	server := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n%50 == 1 {
			w.WriteHeader(404)
		}
	})
	queue := newQueue(t, Options{})
	for range 50 {
		get(t, client(queue), server.URL).Body.Close()
	}
	if unread := queue.core.unread; unread != 49%mostUnheard {
		t.Fatalf("%d successes wait", unread)
	}
	get(t, client(queue), server.URL).Body.Close()
	if queue.core.unread != 0 || server.count() != 51 {
		t.Fatalf("%d successes wait, after %d requests", queue.core.unread, server.count())
	}
}

func TestAFaultyCoreLeavesRequestsPlain(t *testing.T) {
	queue := newQueue(t, Options{Policy: quick})
	server := serve(t, answers(503))
	_ = get(t, client(queue), server.URL)
	func() {
		queue.lock()
		defer queue.unlock()
		queue.core.ask(999)
	}()
	before := server.count()
	response := get(t, client(queue), server.URL)
	if response.StatusCode != 503 || server.count() != before+1 {
		t.Fatalf("%d after %d requests", response.StatusCode, server.count()-before)
	}
	var fault coreFault
	if !errors.As(queue.ended, &fault) {
		t.Fatalf("the queue ended with %v", queue.ended)
	}
}

func TestACrossingAllocatesNothing(t *testing.T) {
	c := startCore(t)
	c.ask(opDepth)
	if allocated := testing.AllocsPerRun(100, func() { c.add(opDepth); c.add(opWakeAt); c.run(); c.next(); c.next() }); allocated != 0 {
		t.Fatalf("%v allocations", allocated)
	}
}

func BenchmarkCrossing(b *testing.B) {
	c := startCore(b)
	for b.Loop() {
		c.ask(opDepth)
	}
}

// BenchmarkDecision is a whole retry: a first attempt that failed becomes a task, waits, starts again and succeeds.
func BenchmarkDecision(b *testing.B) {
	c := startCore(b)
	c.ask(opNew, 6, 3, 10_000, 50<<20, 60_000, 1, 2)
	c.ask(opGates, notGiven, notGiven, notGiven, notGiven, onStormTell, 0, notGiven, notGiven, comebackOfFew, 1)
	policy := slices.Clone(c.ask(opPreset, 0))
	held, lane := c.ask(opPolicy, policy...)[0], c.ask(opLane)[0]
	now, crossings := 1_700_000_000_000.0, 0
	var wakeAt float64
	// poll looks what is due, and says whether the task is to start.
	poll := func(slot float64) (starts bool) {
		for pair := range slices.Chunk(c.next()[1:], 2) {
			starts = starts || pair[0] == slot && pair[1] == 0
		}
		wakeAt = c.next()[0]
		crossings++
		return starts
	}
	settle := func(slot, status float64) bool {
		c.add(opSettle, now, slot, outcomeResponse, status, notGiven, 5, notGiven, 0, 0, saidNothing, notGiven, 0, 0, 0, none)
		c.add(opPoll, now)
		c.add(opWakeAt)
		c.run()
		c.next()
		return poll(slot)
	}
	b.ReportAllocs()
	for b.Loop() {
		slot := c.ask(opAdmit, now, lane, held, 0, 0, flagReplayable, now, never, never, none, now)[0]
		crossings++
		for starts := settle(slot, 503); !starts; {
			if now = wakeAt; now == never {
				b.Fatal("the retry does not start")
			}
			c.add(opPoll, now)
			c.add(opWakeAt)
			c.run()
			starts = poll(slot)
		}
		settle(slot, 200)
		now += 10
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(crossings), "ns/crossing")
	b.ReportMetric(float64(crossings)/float64(b.N), "crossings/op")
}

// BenchmarkSuccess is what a request costs whose origin has failed once: the report of its success.
func BenchmarkSuccess(b *testing.B) {
	c := startCore(b)
	c.ask(opNew, 6, 3, 10_000, 50<<20, 60_000, 1, 2)
	policy := slices.Clone(c.ask(opPreset, 0))
	held, lane := c.ask(opPolicy, policy...)[0], c.ask(opLane)[0]
	now := 1_700_000_000_000.0
	for b.Loop() {
		c.add(opHeard, now, lane, held, now-5, outcomeResponse, 200, notGiven, 5, notGiven, 0, saidNothing, 0)
		c.add(opPoll, now)
		c.add(opWakeAt)
		c.run()
		now++
	}
}
