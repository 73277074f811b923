package redrive

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Service is a `redrive serve`, which keeps tasks on a disk and sends them. docs/service.md describes it.
type Service struct {
	// URL of the service, such as "http://127.0.0.1:7733".
	URL string
	// Token that the service asks for. Default: none, as in its dev mode.
	Token string
}

func (s Service) check() error {
	u, err := url.Parse(s.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return &OptionError{"Service.URL", "expected an http or https URL without user and query, such as http://127.0.0.1:7733"}
	}
	return nil
}

// Task is a request that the service is to make.
type Task struct {
	// URL is absolute, http or https, without a user and without secrets.
	URL string
	// Method in upper case. Default: POST.
	Method string
	// Header without credentials: one whose name or value is that of a credential is a [*NotStorableError]. Headers that belong to a
	// connection, such as Content-Length, are left out.
	Header http.Header
	// Body of the request.
	Body []byte
	// Key is the idempotency key, of the task and of all its attempts. At most 255 visible ASCII characters. Default: that of Header, else a random one.
	Key string
	// PolicyID names a policy of the service. Default: the service's own.
	PolicyID string
	// Credential names a credential of the service's settings, which each attempt gets.
	Credential string
	// Signing names keys of the service's settings, which sign each attempt.
	Signing string
}

// taskIn is a task as the service reads it.
type taskIn struct {
	TargetURL      string            `json:"targetUrl"`
	Method         string            `json:"method"`
	Headers        map[string]string `json:"headers,omitempty"`
	Body           string            `json:"body,omitempty"`
	BodyEncoding   string            `json:"bodyEncoding,omitempty"`
	IdempotencyKey string            `json:"idempotencyKey"`
	PolicyID       string            `json:"policyId,omitempty"`
	Credential     string            `json:"credential,omitempty"`
	Signing        string            `json:"signing,omitempty"`
}

// receipt is the service's answer to a task that it has stored.
type receipt struct {
	TaskID       string `json:"taskId"`
	Durability   string `json:"durability"`
	Deduplicated bool   `json:"deduplicated"`
}

// taskText is the task as JSON, for the service. It gives a [*NotStorableError] for what may not be stored.
func (q *Queue) taskText(task Task) ([]byte, error) {
	in := taskIn{TargetURL: task.URL, Method: task.Method, IdempotencyKey: task.Key, PolicyID: task.PolicyID, Credential: task.Credential, Signing: task.Signing}
	if in.Method == "" {
		in.Method = http.MethodPost
	}
	if in.IdempotencyKey == "" {
		in.IdempotencyKey = task.Header.Get(keyHeader)
	}
	if in.IdempotencyKey == "" {
		in.IdempotencyKey = newKey()
	}
	if !isKey(in.IdempotencyKey) {
		return nil, &NotStorableError{"Key", fmt.Sprintf("expected at most 255 visible ASCII characters, got %q", in.IdempotencyKey)}
	}
	var err error
	if in.Headers, err = q.storable(task); err != nil {
		return nil, err
	}
	in.setBody(task.Body)
	return json.Marshal(in)
}

// storable has the core say what of a task may be stored, and gives those headers.
func (q *Queue) storable(task Task) (map[string]string, error) {
	q.lock()
	defer q.unlock()
	if q.ended != nil {
		return nil, q.ended
	}
	q.core.writeText(task.URL)
	if q.core.ask(opNormalize, float64(len(task.URL)))[0] == none {
		return nil, &NotStorableError{"URL", "expected an absolute http or https URL"}
	}
	q.core.writeText(task.URL)
	if left := q.core.ask(opStripSecrets, float64(len(task.URL)))[0]; q.core.readText(left) != task.URL {
		return nil, &NotStorableError{"URL", "a part of it looks like a secret, and would be stored; give it in a header of a Credential of the service"}
	}
	var names, values []string
	for name, all := range task.Header {
		value := strings.Join(all, ", ")
		if strings.EqualFold(name, keyHeader) {
			continue
		}
		if strings.ContainsAny(name+value, "\r\n\x00") {
			return nil, &NotStorableError{"header " + fmt.Sprintf("%q", name), "it holds a line break, and cannot be sent"}
		}
		names, values = append(names, name), append(values, value)
	}
	if len(names) == 0 {
		return nil, nil
	}
	classes := q.core.askLines(opHeaders, names)
	secrets := q.core.askLines(opSecrets, values)
	headers := map[string]string{}
	for i, name := range names {
		what := "header " + strings.ToLower(name)
		switch {
		case classes[i] == headerRefused:
			return nil, &NotStorableError{what, "it is no header name, and cannot be sent"}
		case classes[i] == headerDropped:
			// each attempt gets its own
		case classes[i] == headerWithheld || secrets[i] == 1:
			return nil, &NotStorableError{what, "it carries, or may carry, a credential, and credentials are not stored; a Task of an Outbox names one of the service's in Credential instead"}
		default:
			headers[strings.ToLower(name)] = values[i]
		}
	}
	return headers, nil
}

// askLines asks about each of some texts.
func (c *core) askLines(op int, lines []string) []float64 {
	text := strings.Join(lines, "\n")
	c.writeText(text)
	return append([]float64(nil), c.ask(op, float64(len(text)))...)
}

func (in *taskIn) setBody(body []byte) {
	if utf8.Valid(body) {
		in.Body = string(body)
		return
	}
	text, _ := json.Marshal(body) // base64, in quotes
	in.Body, in.BodyEncoding = string(text[1:len(text)-1]), "base64"
}

// serviceClient posts tasks. Its requests go through the queue, so that the service is retried as any server is.
type serviceClient struct {
	url, token string
	client     *http.Client
}

func newServiceClient(q *Queue, s Service) *serviceClient {
	base := http.DefaultTransport
	if standard, is := base.(*http.Transport); is {
		own := standard.Clone()
		own.MaxIdleConnsPerHost = claimed
		base = own
	}
	transport := &Transport{Queue: q, Base: base}
	// a redirect would carry tasks, and perhaps the token, elsewhere
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &serviceClient{strings.TrimSuffix(s.URL, "/") + "/retry-tasks", s.Token, &http.Client{Transport: transport, CheckRedirect: refuse}}
}

// post stores a task in the service, under its key. A task that is there already is stored once.
func (s *serviceClient) post(ctx context.Context, task []byte) (receipt, error) {
	var given receipt
	var named struct {
		Key string `json:"idempotencyKey"`
	}
	if err := json.Unmarshal(task, &named); err != nil {
		return given, fmt.Errorf("redrive: the task is no JSON: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(task))
	if err != nil {
		return given, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(keyHeader, named.Key)
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return given, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return given, err
	}
	if response.StatusCode == http.StatusOK || response.StatusCode == http.StatusCreated {
		if err = json.Unmarshal(text, &given); err == nil && given.TaskID != "" {
			return given, nil
		}
	}
	problem := struct{ Type, Detail string }{}
	if json.Unmarshal(text, &problem) != nil || problem.Detail == "" {
		problem.Type, problem.Detail = "unknown", "the answer is none of a redrive service; look at Service.URL"
	}
	return given, &ServiceError{response.StatusCode, strings.TrimPrefix(problem.Type, "urn:redrive:problem:"), problem.Detail}
}
