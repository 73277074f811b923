package redrive

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// keptBytes of the body of a failed answer are kept for a caller that waits for another attempt.
	keptBytes = 64 << 10
	// droppedBytes are read of a body that no caller gets, so that its connection can be used again.
	droppedBytes = 16 << 10
	// restTime is the longest time that either takes.
	restTime = 250 * time.Millisecond
)

// answerBody ends the context of its attempt when it has been read or closed.
type answerBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.cancel(nil)
	}
	return n, err
}

func (b *answerBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

// upgradedBody is that of a 101 Switching Protocols, which is written to, too.
type upgradedBody struct {
	*answerBody
	io.Writer
}

func bodyOf(response *http.Response, cancel context.CancelCauseFunc) io.ReadCloser {
	if response.Body == nil || response.Body == http.NoBody {
		cancel(nil)
		return http.NoBody
	}
	body := &answerBody{response.Body, cancel}
	if writer, can := response.Body.(io.Writer); can {
		return upgradedBody{body, writer}
	}
	return body
}

// closeBody closes the body of a request that is not sent, as an http.RoundTripper has to.
func closeBody(request *http.Request) {
	if request.Body != nil {
		request.Body.Close()
	}
}

// putAside takes a failed answer off its connection while its caller waits for another attempt. It may be the last one.
func putAside(response *http.Response) {
	if response == nil || response.Body == http.NoBody {
		return
	}
	kept, isWhole := readSome(response.Body, keptBytes)
	var rest io.Reader = bytes.NewReader(kept)
	if !isWhole {
		rest = io.MultiReader(rest, droppedRest{})
	}
	response.Body = io.NopCloser(rest)
}

// drop reads a little of an answer that no caller gets, and closes it.
func drop(response *http.Response) {
	if response != nil && response.Body != http.NoBody {
		readSome(response.Body, droppedBytes)
	}
}

// readSome reads so many bytes at most, for restTime at most, and closes the body. A server may send headers and then nothing more.
func readSome(body io.ReadCloser, most int64) (read []byte, isWhole bool) {
	stop := time.AfterFunc(restTime, func() {
		if ours, is := body.(*answerBody); is {
			ours.cancel(nil)
		}
		body.Close()
	})
	read, err := io.ReadAll(io.LimitReader(body, most+1))
	stop.Stop()
	body.Close()
	if int64(len(read)) > most {
		return read[:most], false
	}
	return read, err == nil
}

// droppedRest is what was not read of a body.
type droppedRest struct{}

func (droppedRest) Read([]byte) (int, error) { return 0, ErrBodyDropped }

// waitLines are the header lines that may ask for a wait, for the core to read: which counts, it knows.
func waitLines(header http.Header, isFailure bool) string {
	var lines strings.Builder
	line := func(name string, values []string) {
		lines.WriteString(name)
		lines.WriteByte(':')
		lines.WriteString(strings.ReplaceAll(strings.Join(values, ", "), "\n", " "))
		lines.WriteByte('\n')
	}
	if isFailure {
		for name, values := range header {
			name = strings.ToLower(name)
			if strings.Contains(name, "retry-after") || strings.Contains(name, "ratelimit") || strings.Contains(name, "rate-limit") {
				line(name, values)
			}
		}
	} else if limit := header["Ratelimit"]; limit != nil {
		line("ratelimit", limit)
	}
	if lines.Len() > 0 {
		line("date", header["Date"])
	}
	return lines.String()
}
