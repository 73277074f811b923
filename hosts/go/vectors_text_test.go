package redrive

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func (c *core) askText(op int, text string, more ...float64) []float64 {
	c.writeText(text)
	return c.ask(op, append([]float64{float64(len(text))}, more...)...)
}

func TestDurationsAreReadOrRefused(t *testing.T) {
	c := startCore(t)
	for _, row := range readVectors(t, "durations.json", 70) {
		if got := c.askText(opDuration, row.text("text"))[0]; !same(got, row.number("ms")) {
			t.Errorf("%s: %v", row, got)
		}
	}
}

// line is a header line, as it crosses. A line feed would end it, and no client lets one through.
func line(name string, value any) string {
	text, isThere := value.(string)
	if !isThere {
		return ""
	}
	return name + ":" + strings.ReplaceAll(text, "\n", "\x00") + "\n"
}

// askedMs is the wait of a row: -1 for one that cannot be used.
func askedMs(row vector) float64 {
	switch row.text("asked") {
	case "wait":
		return row.number("ms")
	case "unusable":
		return -1
	}
	return notGiven
}

func TestS9OfAllThatServersSendOneWaitIsRead(t *testing.T) {
	c := startCore(t)
	for _, row := range readVectors(t, "asked.json", 55) {
		var lines string
		for _, pair := range row["lines"].([]any) {
			lines += line(pair.([]any)[0].(string), pair.([]any)[1])
		}
		failed := row.number("status") >= 400
		said := c.askText(opSaid, lines, row.number("status"), bit(failed), row.number("now"))
		asks := failed && strings.Contains("\n"+lines, "\nretry-after:")
		if given, isGiven := row["asks"].(bool); isGiven {
			asks = given
		}
		if !same(said[0], askedMs(row)) || !same(said[1], row.number("limitMs")) || said[3] != bit(asks) {
			t.Errorf("%s: %v", row, said)
		}
	}
	for _, row := range readVectors(t, "server-delay.json", 83) {
		lines := line("retry-after", row["retryAfter"]) + line("retry-after-ms", row["retryAfterMs"]) + line("date", row["date"])
		if said := c.askText(opSaid, lines, 503, 1, row.number("now")); !same(said[0], askedMs(row)) {
			t.Errorf("%s: %v", row, said)
		}
	}
	for _, row := range readVectors(t, "retry-after.json", 339) {
		expected := row.number("ms")
		if math.IsNaN(expected) {
			expected = -1
		}
		lines := line("retry-after", row["header"]) + line("date", row["date"])
		if said := c.askText(opSaid, lines, 503, 1, row.number("now")); said[0] != expected {
			t.Errorf("%s: %v", row, said)
		}
	}
}

func TestRateLimitsAreReadWholeOrNotAtAll(t *testing.T) {
	c := startCore(t)
	for _, row := range readVectors(t, "ratelimit.json", 240) {
		said := c.askText(opSaid, line("ratelimit", row["header"]), 200, 0, 1_795_248_000_000)
		expected, partitioned := notGiven, false
		if row.number("remaining") == 0 {
			expected, partitioned = row.number("resetMs"), row.is("partitioned")
		}
		if !same(said[1], expected) || said[2] != bit(partitioned) {
			t.Errorf("%s: %v", row, said)
		}
	}
	for _, row := range readVectors(t, "rate-limit-reset.json", 110) {
		if row.number("status") < 400 {
			continue // of an answer that is no failure the reset is not read
		}
		lines := line("x-ratelimit-reset", row["reset"]) + line("x-ratelimit-remaining", row["remaining"]) + line("date", row["date"])
		if said := c.askText(opSaid, lines, row.number("status"), 1, row.number("now")); !same(said[0], row.number("ms")) {
			t.Errorf("%s: %v", row, said)
		}
	}
}

func TestEveryEndedCallIsClassifiedAsTheRowsSay(t *testing.T) {
	c := startCore(t)
	outcomes := []string{"response", "network_error", "timed_out", "offline", "credentials_failed", "vetoed", "released", "redirect_refused", "own_error", "aborted"}
	flags := map[string]float64{"replayable": flagReplayable, "key": flagKeyed, "credentials": flagCredentialed}
	checked := 0
	for _, row := range readVectors(t, "classify.json", 189) {
		if row["shouldRetry"] != nil || row.is("unanswered") || row.is("handedOver") {
			continue // a caller's own first attempt knows of none of these
		}
		checked++
		held := c.ask(opPolicy, policyRow(t, optionsOf(row, "policy"))...)[0]
		sum := 0.0
		for _, flag := range row["flags"].([]any) {
			sum += flags[flag.(string)]
		}
		status := row.number("status")
		if math.IsNaN(status) {
			status = 0
		}
		class := c.ask(opClassify, held, float64(slices.Index(outcomes, row.text("outcome"))), status, sum, bit(row.is("asked")))[0]
		got := []string{"success", "retry"}
		for _, reason := range reasons {
			got = append(got, reason)
		}
		if got[int(class)] != row.text("decision") {
			t.Errorf("%s: %s", row, got[int(class)])
		}
	}
	if checked < 120 {
		t.Fatalf("%d rows only", checked)
	}
}

func joined(list any) string {
	var names []string
	items, _ := list.([]any)
	for _, item := range items {
		names = append(names, item.(string))
	}
	return strings.Join(names, "\n")
}

func TestS12EveryHeaderRowHolds(t *testing.T) {
	c := startCore(t)
	classes := []string{"kept", "withheld", "unknown", "dropped", "refused"}
	for _, row := range readVectors(t, "headers.json", 504) {
		persist, deny := joined(row["persist"]), joined(row["deny"])
		c.writeText(persist, deny)
		if c.ask(opHeaderRules, float64(len(persist)), float64(len(deny)))[0] != 1 {
			t.Fatalf("%s: the rules were refused", row)
		}
		if strings.Contains(row.text("name"), "\n") {
			continue // a line feed stands between names
		}
		if got := classes[int(c.askText(opHeaders, row.text("name"))[0])]; got != row.text("class") {
			t.Errorf("%s: %s", row, got)
		}
	}
	for _, row := range readVectors(t, "header-values.json", 185) {
		if strings.Contains(row.text("value"), "\n") {
			continue
		}
		if got := c.askText(opSecrets, row.text("value"))[0]; got != bit(row.is("secret")) {
			t.Errorf("%s: %v", row, got)
		}
	}
}

func TestS12SecretsAreStrippedFromURLs(t *testing.T) {
	c := startCore(t)
	strip := func(url string) string { return c.readText(c.askText(opStripSecrets, url)[0]) }
	for _, row := range readVectors(t, "url-secrets.json", 311) {
		url, names := row.text("url"), row["secrets"].([]any)
		left := strip(url)
		// a secret without a name may be a part of the path, which is not stripped
		isNamed := slices.ContainsFunc(names, func(name any) bool { return name != "" })
		if len(names) == 0 && left != url || isNamed && left == url {
			t.Errorf("%s: %s", row, left)
		}
		if strip(left) != left {
			t.Errorf("%s: %s is not stripped", row, left)
		}
	}
}

func TestEveryURLIsWhatThePlatformSays(t *testing.T) {
	c := startCore(t)
	for _, row := range readVectors(t, "urls.json", 126) {
		length := c.askText(opNormalize, row.text("url"))[0]
		if expected, isThere := row["normalized"].(string); !isThere && length != none || isThere && (length == none || c.readText(length) != expected) {
			t.Errorf("%s: %v", row, length)
		}
	}
}

func TestEveryRequestHasTheKeyAndFingerprintOfItsRow(t *testing.T) {
	c := startCore(t)
	for _, row := range readVectors(t, "keys.json", 124) {
		ask := func(op int, before []float64, parts ...string) string {
			lengths := before
			for _, part := range parts {
				lengths = append(lengths, float64(len(part)))
			}
			c.writeText(parts...)
			if length := c.ask(op, lengths...)[0]; length != none {
				return c.readText(length)
			}
			return ""
		}
		method, url, kind, body := row.text("method"), row.text("url"), row.text("contentType"), row.bytes(t, "body")
		_, hasPrincipal := row["principal"].(string)
		key := ask(opContentKey, []float64{bit(hasPrincipal)}, method, url, kind, row.text("principal"), row.text("scope"), row.text("nonce"), row.text("scopeKey"), body)
		print := ask(opFingerprint, nil, method, url, kind, body)
		if key != row.text("key") || print != row.text("fingerprint") {
			t.Errorf("%s: %s %s", row, key, print)
		}
	}
}

func TestEveryTextIsCanonicalOrRefused(t *testing.T) {
	c := startCore(t)
	for _, row := range readVectors(t, "canonical-json.json", 212) {
		length := c.askText(opCanonicalJson, row.bytes(t, "text"))[0]
		if isRefused := row.is("error"); isRefused != (length == none) || !isRefused && c.readText(length) != row.text("canonical") {
			t.Errorf("%s: %v", row, length)
		}
	}
}
