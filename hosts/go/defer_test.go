package redrive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func deferring(queue *Queue, base http.RoundTripper) *http.Client {
	return &http.Client{Transport: &Transport{Queue: queue, Base: base, Defer: true}}
}

func post(t *testing.T, c *http.Client, url, body string, header ...string) *http.Response {
	t.Helper()
	request, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := c.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func TestADeferredRequestIsAnsweredAtOnceAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys, bodies []string
		base := &script{}
		base.handle = func(n int, request *http.Request) (*http.Response, error) {
			body, err := request.GetBody()
			if err != nil {
				return nil, err
			}
			text, _ := io.ReadAll(body)
			keys, bodies = append(keys, request.Header.Get(keyHeader)), append(bodies, string(text))
			if n < 8 {
				return answer(503), nil
			}
			return answer(200), nil
		}
		var log bytes.Buffer
		queue := newQueue(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithCancel(context.Background())
		given := []byte("tea")
		request, _ := http.NewRequestWithContext(ctx, "POST", "http://api.test/orders", bytes.NewReader(given))
		trace := "4bf92f3577b34da6a3ce929d0e0e4736"
		request.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
		startedAt := time.Now()
		response, err := deferring(queue, base).Do(request)
		if err != nil || response.StatusCode != 202 || time.Since(startedAt) != 0 {
			t.Fatalf("%v %v after %s", response, err, time.Since(startedAt))
		}
		var said keptCall
		if err := json.NewDecoder(response.Body).Decode(&said); err != nil {
			t.Fatal(err)
		}
		if said.Status != "queued" || said.Durability != "memory" || said.TraceID != trace || response.Header.Get("redrive-trace-id") != trace ||
			said.TaskID == "" || response.Header.Get("redrive-task-id") != said.TaskID || response.Header.Get("redrive-durability") != "memory" {
			t.Fatalf("%+v, %v", said, response.Header)
		}
		// its caller is done with the request
		cancel()
		copy(given, "xxx")
		request.Header.Set(keyHeader, "another")
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(keys) != 8 {
			t.Fatalf("%d attempts", len(keys))
		}
		for i := range keys {
			if keys[i] != keys[0] || keys[i] == "" || bodies[i] != "tea" {
				t.Errorf("attempt %d: key %q, body %q", i+1, keys[i], bodies[i])
			}
		}
		if !strings.Contains(log.String(), "a deferred request succeeded") || !strings.Contains(log.String(), trace) {
			t.Errorf("the log has:\n%s", log.String())
		}
	})
}

func TestADeferredRequestThatIsGivenUpIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{handle: func(n int, _ *http.Request) (*http.Response, error) {
			if n == 1 {
				return answer(503), nil
			}
			return answer(400), nil
		}}
		var log bytes.Buffer
		queue := newQueue(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if response := post(t, deferring(queue, base), "http://api.test/", "tea"); response.StatusCode != 202 {
			t.Fatal(response.StatusCode)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if base.count() != 2 || !strings.Contains(log.String(), "given up") || !strings.Contains(log.String(), "reason=not_retryable") {
			t.Fatalf("%d attempts:\n%s", base.count(), log.String())
		}
	})
}

func TestWhatIsNotToBeTriedAgainIsNotDeferred(t *testing.T) {
	queue := newQueue(t, Options{Policy: quick})
	for _, status := range []int{200, 400, 500} {
		server := serve(t, answers(status))
		if response := post(t, deferring(queue, nil), server.URL, "tea"); response.StatusCode != status || server.count() != 1 {
			t.Errorf("%d: %d after %d requests", status, response.StatusCode, server.count())
		}
	}
	server := serve(t, answers(503))
	request, _ := http.NewRequest("POST", server.URL, io.MultiReader(strings.NewReader("one way")))
	response, err := deferring(queue, nil).Do(request)
	if err != nil || response.StatusCode != 503 {
		t.Errorf("a body that cannot be had again: %v %v", response, err)
	}
	if response := post(t, deferring(queue, nil), server.URL, strings.Repeat("x", mostKeptBody+1)); response.StatusCode != 503 {
		t.Errorf("a large body: %d", response.StatusCode)
	}
}

func TestWhileItsServerIsAwayADeferredRequestIsKeptUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var isUp atomic.Bool
		base := &script{handle: func(_ int, request *http.Request) (*http.Response, error) {
			if isUp.Load() {
				return answer(200), nil
			}
			<-request.Context().Done()
			return nil, context.Cause(request.Context())
		}}
		queue := newQueue(t, Options{})
		down(t, queue, base)
		before := base.count()
		if response := post(t, deferring(queue, base), "http://api.test/", "tea"); response.StatusCode != 202 || base.count() != before {
			t.Fatalf("%d after %d attempts", response.StatusCode, base.count()-before)
		}
		isUp.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if base.count() != before+1 {
			t.Fatalf("%d attempts", base.count()-before)
		}
	})
}

func TestTheServiceTakesADeferredRequestUnderItsKey(t *testing.T) {
	target := serve(t, answers(503))
	service := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			w.WriteHeader(503)
			return
		}
		w.WriteHeader(201)
		io.WriteString(w, `{"taskId":"task-1","idempotencyKey":"order-1","status":"PENDING","durability":"strict","deduplicated":false}`)
	})
	queue := newQueue(t, Options{Policy: quick, Service: &Service{URL: service.URL + "/", Token: "filler"}})
	response := post(t, deferring(queue, nil), target.URL+"/orders?a=1", "tea\xff", keyHeader, "order-1", "Accept", "text/plain", "Content-Type", "x/y", "X-Tenant", "7")
	var said keptCall
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != 202 || said.TaskID != "task-1" || said.Durability != "strict" || target.count() != 1 {
		t.Fatalf("%d %+v", response.StatusCode, said)
	}
	for _, one := range service.all() {
		var task map[string]any
		if err := json.Unmarshal([]byte(one.body), &task); err != nil {
			t.Fatal(err)
		}
		headers, _ := json.Marshal(task["headers"])
		if one.key != "order-1" || one.header.Get("Authorization") != "Bearer filler" || task["targetUrl"] != target.URL+"/orders?a=1" ||
			task["method"] != "POST" || task["idempotencyKey"] != "order-1" || task["body"] != "dGVh/w==" || task["bodyEncoding"] != "base64" ||
			string(headers) != `{"accept":"text/plain","content-type":"x/y","x-tenant":"7"}` {
			t.Fatalf("%+v", one)
		}
	}
	if service.count() != 2 {
		t.Fatalf("%d posts", service.count())
	}
}

func TestWhatTheServiceMayNotStoreGetsItsFirstAnswer(t *testing.T) {
	target := serve(t, answers(503))
	service := serve(t, answers(500))
	queue := newQueue(t, Options{Policy: quick, Service: &Service{URL: service.URL}})
	if response := post(t, deferring(queue, nil), target.URL, "tea", "Authorization", "Bearer filler"); response.StatusCode != 503 || service.count() != 0 {
		t.Fatalf("%d after %d posts", response.StatusCode, service.count())
	}
	if response := post(t, deferring(queue, nil), target.URL, "tea"); response.StatusCode != 503 || textOf(t, response) != "answer 2" || service.count() != 1 {
		t.Fatalf("%d after %d posts", response.StatusCode, service.count())
	}
}

func TestATaskWithACredentialIsRefusedInWords(t *testing.T) {
	queue := newQueue(t, Options{})
	for what, task := range map[string]Task{
		"header authorization": {URL: "https://api.test/", Header: http.Header{"Authorization": {"Bearer filler"}}},
		"header x-api-key":     {URL: "https://api.test/", Header: http.Header{"X-Api-Key": {"filler"}}},
		"header x-note":        {URL: "https://api.test/", Header: http.Header{"X-Note": {"Bearer filler"}}},
		"header a b":           {URL: "https://api.test/", Header: http.Header{"a b": {"c"}}},
		`header "X-A"`:         {URL: "https://api.test/", Header: http.Header{"X-A": {"b\nx-c: d"}}},
		"URL":                  {URL: "https://api.test/?access_token=filler"},
	} {
		_, err := queue.taskText(task)
		var refused *NotStorableError
		if !errors.As(err, &refused) || !errors.Is(err, ErrNotStorable) || refused.What != what {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, url := range []string{"", "/orders", "ftp://api.test/", "https://user:pass@api.test/"} {
		if _, err := queue.taskText(Task{URL: url}); !errors.Is(err, ErrNotStorable) {
			t.Errorf("%q: %v", url, err)
		}
	}
	text, err := queue.taskText(Task{URL: "https://api.test/", Header: http.Header{"Content-Length": {"3"}, "Accept": {"a", "b"}}, Key: "k", PolicyID: "p", Credential: "c", Signing: "s"})
	if expected := `{"targetUrl":"https://api.test/","method":"POST","headers":{"accept":"a, b"},"idempotencyKey":"k","policyId":"p","credential":"c","signing":"s"}`; err != nil || string(text) != expected {
		t.Errorf("%s %v", text, err)
	}
}

func TestClosingAQueueCountsTheDeferredRequestsThatAreLost(t *testing.T) {
	var log bytes.Buffer
	queue := newQueue(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	server := serve(t, answers(503))
	if response := post(t, deferring(queue, nil), server.URL, "tea"); response.StatusCode != 202 {
		t.Fatal(response.StatusCode)
	}
	queue.Close()
	if !strings.Contains(log.String(), "deferred requests were lost") || !strings.Contains(log.String(), "count=1") {
		t.Fatalf("the log has:\n%s", log.String())
	}
}
