package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
)

// Access has the address of a server and the credentials of its clients.
type Access struct {
	BaseURL        string
	OrganizationID string
	PartnerID      int64
	APIKey         string // of the merchant
	SessionToken   string // of a user who works on contracts, with role admin
}

// Clients are the clients of one server. The server may be stopped and started while the clients work. A client works on
// request sequences; one is the sequence of requests about one transaction or contract.
type Clients struct {
	HasLargeData bool // half of the transactions have tens of KiB of the merchant's data; set before Work

	path string

	mu              sync.Mutex
	file            *os.File
	answers         *bufio.Writer
	next            int                // number of the next transaction or contract
	idle            []*requestSequence // sequences that no client works on
	errs            []error            // one for each response that no server may give
	statuses        map[string]string  // id of a transaction → its status in the last response
	answered        int
	unknown         int
	awaitedResponse int // onAwaited is called at the response with this number
	onAwaited       func()
	busy            int // number of responses 503
	kinds           map[string]int
}

// Open creates the file in which the requests and responses are recorded.
func Open(path string) (*Clients, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &Clients{path: path, file: f, answers: bufio.NewWriterSize(f, 1<<20), statuses: make(map[string]string), kinds: make(map[string]int)}, nil
}

// Path returns the path of the file of responses.
func (c *Clients) Path() string { return c.path }

// Close closes the file of responses.
func (c *Clients) Close() error { return errors.Join(c.Flush(), c.file.Close()) }

// Flush writes the buffered records to the file. It returns the errors about responses that no server may give, unless an
// earlier call has returned them, and the error of writing.
func (c *Clients) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := c.errs
	c.errs = nil
	return errors.Join(append(errs, c.answers.Flush())...)
}

// Answered returns the number of responses so far. It does not count responses with status 503.
func (c *Clients) Answered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answered
}

// AfterResponses makes a client call fn when the clients have received n more responses (503 does not count). If the n-th
// response is to a read, fn is called at the next response to a write instead. The client that received the response waits
// until fn returns.
func (c *Clients) AfterResponses(n int, fn func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaitedResponse, c.onAwaited = c.answered+n, fn
}

// String returns the numbers of requests with and without a response, for a log.
func (c *Clients) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d responses, %d requests without one, %d times busy; by kind %v", c.answered, c.unknown, c.busy, c.kinds)
}

// Statuses returns the last status that a response showed for each transaction. The keys are the ids of the transactions.
func (c *Clients) Statuses() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	statuses := make(map[string]string, len(c.statuses))
	for id, status := range c.statuses {
		statuses[id] = status
	}
	return statuses
}

// Work lets n clients send requests. A client stops when ctx ends or when one of its requests gets no response.
func (c *Clients) Work(ctx context.Context, a Access, client *http.Client, n int, random *rand.Rand) {
	var workers sync.WaitGroup
	for range n {
		own := rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
		workers.Go(func() {
			session := &clientSession{Clients: c, Access: a, http: client, random: own}
			for ctx.Err() == nil && session.work(ctx) {
			}
		})
	}
	workers.Wait()
}

// acquire returns a sequence for a client, usually one that has already begun.
func (c *Clients) acquire(random *rand.Rand) *requestSequence {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) == 0 || random.IntN(3) == 0 {
		c.next++
		return newRequestSequence(c.next, c.HasLargeData, random)
	}
	// A recent sequence is more likely than an older one, so that the sequences that were under way at a fault continue
	// soon after the fault.
	fromEnd := 1 + min(int(random.ExpFloat64()*20), len(c.idle)-1)
	i := len(c.idle) - fromEnd
	s := c.idle[i]
	c.idle = slices.Delete(c.idle, i, i+1)
	return s
}

// release lets other clients continue a sequence.
func (c *Clients) release(s *requestSequence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, s)
}

// answerLine is a line of the file of responses.
type answerLine struct {
	Method         string          `json:"method"`
	Path           string          `json:"path"`
	Organization   string          `json:"organization_id"`
	Partner        int64           `json:"partner_id,omitempty"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
	Body           json.RawMessage `json:"body,omitempty"`
	Status         int             `json:"status"` // 0 if no response came
	Response       json.RawMessage `json:"response,omitempty"`
}

// clientSession is one client.
type clientSession struct {
	*Clients
	Access
	http   *http.Client
	random *rand.Rand
}

// work makes the next request of a sequence. It returns false if no response came.
func (s *clientSession) work(ctx context.Context) bool {
	sequence := s.acquire(s.random)
	defer s.release(sequence)
	request := sequence.next(s.random)
	line := answerLine{
		Method: request.method, Path: request.path, Organization: s.OrganizationID, IdempotencyKey: request.key, Body: request.recordedBody,
	}
	if !request.byUser {
		line.Partner = s.PartnerID
	}
	line.Status, line.Response = s.send(ctx, &request)
	err := s.record(request.kind, &line)
	if err == nil && line.Status != 0 && line.Status != http.StatusServiceUnavailable {
		err = sequence.handleResponse(&request, line.Status, line.Response)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("%s %s %s answered %d %s: %w", request.method, request.path, request.recordedBody, line.Status, line.Response, err))
	}
	if !request.byUser && sequence.id != "" && sequence.status != "" {
		s.statuses[sequence.id] = sequence.status
	}
	return line.Status != 0
}

// send sends a request. Status 0 means that no complete response came.
func (s *clientSession) send(ctx context.Context, r *request) (int, json.RawMessage) {
	message, err := http.NewRequestWithContext(ctx, r.method, s.BaseURL+r.path, bytes.NewReader(r.body))
	if err != nil {
		return 0, nil
	}
	message.Header.Set("x-organization-id", s.OrganizationID)
	if r.byUser {
		message.Header.Set("authorization", "Bearer "+s.SessionToken)
	} else {
		message.Header.Set("x-api-key", s.APIKey)
	}
	if r.body != nil {
		message.Header.Set("content-type", "application/json")
	}
	if r.key != "" {
		message.Header.Set("idempotency-key", r.key)
	}
	response, err := s.http.Do(message)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil || !json.Valid(content) {
		return 0, nil
	}
	return response.StatusCode, content
}

// record writes a response, or the fact that no response came, to the file.
func (s *clientSession) record(kind string, line *answerLine) error {
	text, err := json.Marshal(line)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		_, err = s.answers.Write(append(text, '\n'))
	}
	switch line.Status {
	case 0:
		s.unknown++
		s.kinds["no response"]++
	case http.StatusServiceUnavailable:
		s.busy++
	default:
		s.answered++
		s.kinds[kind+" "+strconv.Itoa(line.Status)]++
		if s.answered == s.awaitedResponse && line.Method != http.MethodGet {
			s.onAwaited()
		} else if s.answered == s.awaitedResponse {
			s.awaitedResponse++ // a read changes nothing that could be lost, so the next response is awaited
		}
	}
	return err
}
