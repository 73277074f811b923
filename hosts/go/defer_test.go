package redrive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"slices"
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
			if n > 1 && request.Cancel != nil {
				t.Error("the Timeout of the caller's http.Client may end an attempt")
			}
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
		client := deferring(queue, base)
		client.Timeout = time.Minute
		response, err := client.Do(request)
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

func TestADeferredRequestFollowsRedirectsWithinItsOrigin(t *testing.T) {
	for _, one := range []struct {
		method   string
		status   int
		location string
		// What is sent after the redirect, where the first answer there is a 503.
		sent     []string
		isFailed bool
	}{
		{"POST", 307, "/b", []string{"POST /b k tea", "POST /a k tea", "POST /b k tea"}, false},
		{"PUT", 308, "/b", []string{"PUT /b k tea", "PUT /a k tea", "PUT /b k tea"}, false},
		{"POST", 303, "/b", []string{"GET /b  ", "GET /b  "}, false},
		{"GET", 301, "/b", []string{"GET /b k ", "GET /a k tea", "GET /b k "}, false},
		{"POST", 308, "http://other.test/b", nil, true},
		{"POST", 302, "https://api.test/b", nil, true},
		{"POST", 307, "http://%zz/", nil, true},
		{"PUT", 301, "/b", nil, true},
		{"POST", 307, "/a", slices.Repeat([]string{"POST /a k tea"}, mostHops), true},
		{"POST", 307, "", nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var sent []string
			isLed := false
			base := &script{handle: func(n int, request *http.Request) (*http.Response, error) {
				body := ""
				if request.GetBody != nil {
					again, _ := request.GetBody()
					text, _ := io.ReadAll(again)
					body = string(text)
				}
				sent = append(sent, strings.Join([]string{request.Method, request.URL.Path, request.Header.Get(keyHeader), body}, " "))
				switch {
				case n == 1:
					return answer(503), nil
				case request.URL.Path == "/a" && one.location == "":
					return answer(one.status), nil
				case request.URL.Path == "/a":
					return answer(one.status, "Location", one.location), nil
				case !isLed:
					isLed = true
					return answer(503), nil
				}
				return answer(200), nil
			}}
			var log bytes.Buffer
			queue := newQueue(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			request, _ := http.NewRequest(one.method, "http://api.test/a", strings.NewReader("tea"))
			request.Header.Set(keyHeader, "k")
			if response, err := deferring(queue, base).Do(request); err != nil || response.StatusCode != 202 {
				t.Fatal(response, err)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if !slices.Equal(sent[2:], one.sent) {
				t.Errorf("%v: %q", one, sent[2:])
			}
			if isGivenUp := strings.Contains(log.String(), "given up") && strings.Contains(log.String(), "not_retryable"); isGivenUp != one.isFailed ||
				isGivenUp == strings.Contains(log.String(), "succeeded") {
				t.Errorf("%v: the log has:\n%s", one, log.String())
			}
		})
	}
}

func TestADeferredRequestIsNoPartOfItsCallersTrace(t *testing.T) {
	done := make(chan struct{})
	server := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		answers(503, 503, 200)(n, w, r)
		if n == 3 {
			close(done)
		}
	})
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DisableKeepAlives = true
	var calls atomic.Int32
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		ConnectStart: func(string, string) { calls.Add(1) },
		GotConn:      func(httptrace.GotConnInfo) { calls.Add(1) },
	})
	request, _ := http.NewRequestWithContext(ctx, "POST", server.URL, strings.NewReader("tea"))
	if response, err := deferring(newQueue(t, Options{Background: quick}), base).Do(request); err != nil || response.StatusCode != 202 {
		t.Fatal(response, err)
	}
	<-done
	if calls.Load() != 2 {
		t.Errorf("%d calls", calls.Load())
	}
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

// serving is a queue with a service, which base answers for, too.
func serving(t *testing.T, base http.RoundTripper) *Queue {
	queue := newQueue(t, Options{Service: &Service{URL: "http://service.test"}})
	queue.service.client.Transport.(*Transport).Base = base
	return queue
}

func TestWithAServiceACallShowsWhetherItsServerIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var isUp atomic.Bool
		sent := 0
		base := &script{handle: func(_ int, request *http.Request) (*http.Response, error) {
			if request.URL.Host == "service.test" {
				receipt := answer(201)
				receipt.Body = io.NopCloser(strings.NewReader(`{"taskId":"task-1","durability":"strict"}`))
				return receipt, nil
			}
			sent++
			if isUp.Load() {
				return answer(200), nil
			}
			<-request.Context().Done()
			return nil, context.Cause(request.Context())
		}}
		queue := serving(t, base)
		client := deferring(queue, base)
		down(t, queue, base)
		before := sent
		if response := post(t, client, "http://api.test/", "tea"); response.StatusCode != 202 || sent != before {
			t.Fatalf("%d after %d attempts", response.StatusCode, sent-before)
		}
		// what may not be stored waits at the door
		request, _ := http.NewRequestWithContext(WithWait(context.Background(), time.Millisecond), "GET", "http://api.test/", nil)
		request.Header.Set("Authorization", "Bearer filler")
		if _, err := client.Do(request); !errors.Is(err, ErrCircuitOpen) || sent != before {
			t.Fatalf("%v after %d attempts", err, sent-before)
		}
		isUp.Store(true)
		if response := post(t, client, "http://api.test/", "tea", "Authorization", "Bearer filler"); response.StatusCode != 200 || sent != before+1 {
			t.Fatalf("%d after %d attempts", response.StatusCode, sent-before)
		}
		down(t, queue, &script{handle: func(int, *http.Request) (*http.Response, error) {
			time.Sleep(3 * time.Second)
			return answer(503), nil
		}})
		time.Sleep(10 * time.Second)
		if response := post(t, client, "http://api.test/", "tea"); response.StatusCode != 200 || sent != before+2 {
			t.Fatalf("%d after %d attempts", response.StatusCode, sent-before)
		}
	})
}

func TestAServiceThatIsAwayDelaysTheFirstAnswerByTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{handle: func(_ int, request *http.Request) (*http.Response, error) {
			if request.URL.Host == "service.test" {
				<-request.Context().Done()
				return nil, context.Cause(request.Context())
			}
			return answer(503), nil
		}}
		startedAt := time.Now()
		if response := post(t, deferring(serving(t, base), base), "http://api.test/", "tea"); response.StatusCode != 503 || time.Since(startedAt) != keepingTime {
			t.Fatalf("%d after %s", response.StatusCode, time.Since(startedAt))
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
	request, _ := http.NewRequest("PUT", target.URL, strings.NewReader("tea"))
	request.Host = "a.test"
	if response, err := deferring(queue, nil).Do(request); err != nil || response.StatusCode != 503 || service.count() != 1 {
		t.Fatalf("of a Host of its own: %v %v after %d posts", response, err, service.count())
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
		"Key":                  {URL: "https://api.test/", Key: "order\n1"},
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
	if _, err := deferring(queue, nil).Post(server.URL, "text/plain", strings.NewReader("tea")); !errors.Is(err, ErrClosed) || server.count() != 1 {
		t.Fatalf("%v after %d requests", err, server.count())
	}
}
