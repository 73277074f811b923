package redrive

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// vector is a row of a file in tests/vectors.
type vector map[string]any

func (v vector) text(name string) string { text, _ := v[name].(string); return text }

func (v vector) number(name string) float64 {
	if number, is := v[name].(float64); is {
		return number
	}
	return notGiven
}

func (v vector) is(name string) bool { return v[name] == true }

// bytes are those of a text, or of the hex digits beside it.
func (v vector) bytes(t *testing.T, name string) string {
	if text, is := v[name].(string); is {
		return text
	}
	bytes, err := hex.DecodeString(v.text(name + "Hex"))
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes)
}

func (v vector) String() string { text, _ := json.Marshal(map[string]any(v)); return string(text) }

func readVectors(t *testing.T, file string, least int) []vector {
	t.Helper()
	text, err := os.ReadFile(vectors + file)
	if err != nil {
		t.Fatal(err)
	}
	var read struct{ Vectors []vector }
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	var all []vector
	for _, line := range read.Vectors {
		rows, holdsMany := line["rows"].([]any)
		if !holdsMany {
			all = append(all, line)
			continue
		}
		for _, values := range rows {
			row := vector{}
			for name, value := range line {
				row[name] = value
			}
			for i, column := range line["columns"].([]any) {
				row[column.(string)] = values.([]any)[i]
			}
			delete(row, "rows")
			delete(row, "columns")
			all = append(all, row)
		}
	}
	if len(all) < least {
		t.Fatalf("%s has %d rows only", file, len(all))
	}
	return all
}

// policyRow is a policy with the names that JavaScript gives its options, as it crosses.
func policyRow(t *testing.T, options map[string]any) []float64 {
	t.Helper()
	row := make([]float64, len(policyFields))
	for i, name := range policyFields {
		row[i] = notGiven
		switch value := options[name].(type) {
		case float64:
			row[i] = value
		case bool:
			row[i] = bit(value)
		case string:
			names := strategies
			if name == "jitterType" {
				names = jitters
			}
			row[i] = float64(slices.Index(names, value))
		}
	}
	var lists []float64
	for _, name := range []string{"delaysMs", "retryableStatusCodes"} {
		list, isGiven := options[name].([]any)
		if options[name] == "broad" {
			list, isGiven = []any{408.0, 425.0, 429.0, 500.0, 502.0, 503.0, 504.0, 520.0, 521.0, 522.0, 523.0, 524.0}, true
		}
		if !isGiven {
			row = append(row, notGiven)
			continue
		}
		row = append(row, float64(len(list)))
		for _, number := range list {
			lists = append(lists, number.(float64))
		}
	}
	return append(row, lists...)
}

func optionsOf(row vector, name string) map[string]any {
	options, _ := row[name].(map[string]any)
	return options
}

func TestPoliciesAreTakenOrRefusedAsTheRowsSay(t *testing.T) {
	c := startCore(t)
	for _, row := range readVectors(t, "policies.json", 140) {
		answer := c.ask(opPolicy, policyRow(t, optionsOf(row, "options"))...)
		refused, isRefused := row["error"].(map[string]any)
		if (answer[0] == none) != isRefused {
			t.Fatalf("%s: %v", row, answer)
		}
		if isRefused {
			if option, _, _ := strings.Cut(c.readText(answer[1]), ":"); option != refused["option"] {
				t.Errorf("%s: the error names %s", row, option)
			}
		}
	}
}

func TestPresetsAreThoseOfTheRows(t *testing.T) {
	c := startCore(t)
	rows := readVectors(t, "presets.json", 7)
	if len(rows) != len(presets) {
		t.Fatalf("%d rows, %d presets", len(rows), len(presets))
	}
	for i, row := range rows {
		if row.text("name") != presets[i] {
			t.Fatalf("preset %d is %s", i, presets[i])
		}
		got, expected := slices.Clone(c.ask(opPreset, float64(i))), policyRow(t, optionsOf(row, "policy"))
		if !slices.EqualFunc(got, expected, same) {
			t.Errorf("%s: %v, expected %v", presets[i], got, expected)
		}
	}
	if answer := c.ask(opPreset, float64(len(presets))); len(answer) != 0 {
		t.Errorf("a preset behind the last: %v", answer)
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// publishedOptions are the options that a strategy and its params in backoff.json stand for.
func publishedOptions(row vector) map[string]any {
	params := optionsOf(row, "params")
	curve := func(jitter string) map[string]any {
		return map[string]any{"strategy": "exponential", "initialDelayMs": params["base"], "multiplier": params["mult"],
			"maxDelayMs": params["cap"], "jitterType": jitter, "jitterRatio": params["ratio"]}
	}
	switch strategy := row.text("strategy"); strategy {
	case "exponential":
		return curve("NONE")
	case "full", "equal", "additive", "proportional", "decorrelated", "decorrelated_clamped":
		return curve(strings.ToUpper(strategy))
	case "linear":
		return map[string]any{"strategy": "linear", "initialDelayMs": params["base"], "stepMs": params["step"], "maxDelayMs": params["cap"], "jitterType": "NONE"}
	case "fixed":
		return map[string]any{"strategy": "fixed", "initialDelayMs": params["delay"], "jitterType": "NONE"}
	case "zizq":
		return map[string]any{"strategy": "polynomial", "baseMs": params["base"], "exponent": params["exponent"], "jitterMs": params["jitter"]}
	case "spread":
		return map[string]any{"strategy": "spread", "initialDelayMs": params["base"], "multiplier": params["mult"], "maxDelayMs": params["cap"]}
	default:
		return map[string]any{"strategy": strategy}
	}
}

func TestS10EveryBackoffRowHoldsToTheMillisecond(t *testing.T) {
	c := startCore(t)
	for _, row := range readVectors(t, "backoff.json", 1291) {
		r32, phase := row.number("u32"), 0.0
		if row.text("strategy") == "spread" {
			r32, phase = 1<<31, r32
		}
		checkDelay(t, c, row, publishedOptions(row), r32, phase)
	}
	for _, row := range readVectors(t, "backoff-own.json", 2049) {
		phase := row.number("phase")
		if math.IsNaN(phase) {
			phase = 0
		}
		checkDelay(t, c, row, optionsOf(row, "options"), row.number("u32"), phase)
	}
}

func checkDelay(t *testing.T, c *core, row vector, options map[string]any, r32, phase float64) {
	t.Helper()
	arguments := append([]float64{row.number("attempt"), r32, phase, row.number("prevDelayMs")}, policyRow(t, options)...)
	if got := c.ask(opDelay, arguments...)[0]; got != row.number("delayMs") {
		t.Fatalf("%s: %v", row, got)
	}
}
