package redrive

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestWrongOptionsAreRefusedBeforeAnythingIsSent(t *testing.T) {
	for option, options := range map[string]Options{
		"Options.Concurrency":         {Concurrency: 10_001},
		"Options.PerOrigin":           {PerOrigin: -1},
		"Options.Capacity":            {Capacity: 1_000_001},
		"Options.CapacityBytes":       {CapacityBytes: -1},
		"Options.Wait":                {Wait: -time.Second},
		"Options.Policy.MaxAttempts":  {Policy: Policy{MaxAttempts: -1}},
		"Options.Policy.Multiplier":   {Policy: Policy{Multiplier: 1.001}},
		"Options.Policy.Preset":       {Policy: Policy{Preset: "hasty"}},
		"Options.Policy.Strategy":     {Policy: Policy{Strategy: "guess"}},
		"Options.Policy.Jitter":       {Policy: Policy{Jitter: "full"}},
		"Options.Policy.InitialDelay": {Policy: Policy{InitialDelay: 1500 * time.Microsecond}},
		"Options.Policy.TotalBudget":  {Policy: Policy{TotalBudget: 48 * time.Hour}},
		"Options.Background.Delays":   {Background: Policy{Strategy: "table"}},
		"Options.Policy.StatusCodes":  {Policy: Policy{StatusCodes: []int{99}}},
		"Service.URL":                 {Service: &Service{URL: "127.0.0.1:7733"}},
	} {
		_, err := New(options)
		var wrong *OptionError
		if !errors.As(err, &wrong) || wrong.Option != option || wrong.Reason == "" {
			t.Errorf("%s: %v", option, err)
		}
	}
	server := serve(t, answers(200))
	queue := newQueue(t, Options{})
	for name, ctx := range map[string]context.Context{
		"WithWait": WithWait(context.Background(), 0),
		"WithKey":  WithKey(context.Background(), "a key"),
	} {
		request, _ := http.NewRequestWithContext(ctx, "POST", server.URL, strings.NewReader("tea"))
		_, err := client(queue).Do(request)
		var wrong *OptionError
		if !errors.As(err, &wrong) || wrong.Option != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	var wrong *OptionError
	if _, err := (&http.Client{Transport: &Transport{}}).Get(server.URL); !errors.As(err, &wrong) || wrong.Option != "Transport.Queue" {
		t.Errorf("no queue: %v", err)
	}
	if server.count() != 0 {
		t.Errorf("%d requests", server.count())
	}
}

func TestOriginsDifferAsThoseOfURLsDo(t *testing.T) {
	for given, expected := range map[string]string{
		"http://API.test:80/x":  "http://api.test",
		"HTTPS://api.test:443":  "https://api.test",
		"https://api.test:8443": "https://api.test:8443",
		"http://[::1]:80/":      "http://[::1]",
	} {
		request, err := http.NewRequest("GET", given, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := originOf(request).String(); got != expected {
			t.Errorf("%s: %s", given, got)
		}
	}
}
