package linearizable

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"mizan/bench/server"
)

// epoch is the time of one server process, from the instant when it is ready until it is killed.
type epoch struct {
	sandbox  *server.Sandbox
	http     *http.Client
	answers  *answersFile
	answered atomic.Int64  // number of responses
	enough   int64         // number of responses after which reached is closed
	reached  chan struct{} // closed after enough responses
	ended    chan struct{} // closed when the process has ended
}

// caller has the header and the value that authenticate a request.
type caller struct{ header, value string }

func partnerCaller(key string) caller { return caller{"x-api-key", key} }
func (e *epoch) admin() caller        { return caller{"authorization", "Bearer " + e.sandbox.AdminToken} }
func (e *epoch) session() caller      { return caller{"authorization", "Bearer " + e.sandbox.SessionToken} }

// answer is a response. Status 0 means that no complete response came.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do makes a request and records it with its response. recordedBody is the form of the body that is recorded, without card data.
// If key is not empty, it is sent as the Idempotency-Key.
func (e *epoch) do(as caller, method, path, body, recordedBody, key string) *answer {
	a := e.exchange(as, method, path, body, key)
	if a.status != 0 && e.answered.Add(1) == e.enough {
		close(e.reached)
	}
	e.answers.add(answerLine{method, path, e.sandbox.OrganizationID, rawBody(recordedBody), a.status, a.body})
	return a
}

// exchange makes a request.
func (e *epoch) exchange(as caller, method, path, body, key string) *answer {
	request, err := http.NewRequest(method, e.sandbox.BaseURL+path, strings.NewReader(body))
	if err != nil {
		panic(err) // the methods and paths are constants of this package
	}
	request.Header.Set(as.header, as.value)
	request.Header.Set("x-organization-id", e.sandbox.OrganizationID)
	if body != "" {
		request.Header.Set("content-type", "application/json")
	}
	if key != "" {
		request.Header.Set("idempotency-key", key)
	}
	response, err := e.http.Do(request)
	if err != nil {
		return new(answer)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return new(answer)
	}
	return &answer{response.StatusCode, response.Header, content}
}

// unknownOutcomes are texts. If the message of a 503 contains one of them, the server may have done the work or not. After any
// other 503 nothing was done.
var unknownOutcomes = []string{"not stored yet", "not closed yet", "may or may not be done", "is under way"}

// isUnknown tells whether, after this response, the server may have done the work or not.
func (a *answer) isUnknown() bool {
	if a.status == http.StatusServiceUnavailable {
		for _, text := range unknownOutcomes {
			if bytes.Contains(a.body, []byte(text)) {
				return true
			}
		}
		return false
	}
	return a.status == 0 || a.status >= 500
}

// isNothingDone tells whether the server was too busy to do anything.
func (a *answer) isNothingDone() bool {
	return a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable && !a.isUnknown()
}

// into decodes the body. A body that cannot be decoded leaves zero values, which no model allows.
func (a *answer) into(value any) { _ = json.Unmarshal(a.body, value) }

// answerLine is a line of the file that `mizan audit verify --answers` reads.
type answerLine struct {
	Method       string          `json:"method"`
	Path         string          `json:"path"`
	Organization string          `json:"organization_id"`
	Body         json.RawMessage `json:"body"`
	Status       int             `json:"status"` // 0: no response came
	Response     json.RawMessage `json:"response"`
}

func rawBody(body string) json.RawMessage {
	if body == "" {
		return nil
	}
	return json.RawMessage(body)
}

// answersFile writes the file for `mizan audit verify --answers`.
type answersFile struct {
	path string

	mu     sync.Mutex
	file   *os.File
	buffer *bufio.Writer
	err    error // of the first failure
}

func createAnswers(path string) (*answersFile, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &answersFile{path: path, file: f, buffer: bufio.NewWriterSize(f, 1<<20)}, nil
}

func (f *answersFile) add(line answerLine) {
	text, err := json.Marshal(line)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		_, err = f.buffer.Write(append(text, '\n'))
	}
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("%s %s: %w", line.Method, line.Path, err)
	}
}

// close writes the buffered lines, closes the file, and returns the first failure.
func (f *answersFile) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, err := range []error{f.buffer.Flush(), f.file.Close()} {
		if f.err == nil {
			f.err = err
		}
	}
	return f.err
}
