package orders

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"mizan/bench/server"
)

const (
	// Clients is the number of concurrent clients of a campaign.
	Clients = 32
	// ConcurrentCreates is the number of requests that Race sends at the same instant.
	ConcurrentCreates = 64
)

// Pool is the set of clients of a running server.
type Pool struct {
	book     *Book
	sandbox  *server.Sandbox
	http     *http.Client
	noDelays bool // new orders have no delayed outcome
}

// NewPool makes the clients of a server. s is the content of the sandbox.json that the server wrote. If noDelays is true, no
// outcome of a new order is delayed.
func NewPool(b *Book, s *server.Sandbox, noDelays bool) (*Pool, error) {
	client, err := s.Client()
	return &Pool{book: b, sandbox: s, http: client, noDelays: noDelays}, err
}

// Close closes the connections.
func (c *Pool) Close() { c.http.CloseIdleConnections() }

// SetTimeout bounds the time of each further request, from its start until its response is complete.
func (c *Pool) SetTimeout(d time.Duration) { c.http.Timeout = d }

// Work acts as one client until ctx ends. It creates transactions, repeats create requests, and reads transactions.
func (c *Pool) Work(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		c.WorkOnce(ctx, random)
	}
}

// WorkOnce makes one request, which it chooses at random.
func (c *Pool) WorkOnce(ctx context.Context, random *rand.Rand) {
	roll := random.IntN(100)
	o := c.book.randomOrder(random)
	switch {
	case o == nil || roll < 70:
		c.Create(ctx, c.book.Add(random, c.noDelays))
	case roll < 85 || c.book.LastState(o).ID == "":
		c.Create(ctx, o)
	default:
		c.Read(ctx, o)
	}
}

// Race sends many create requests for one new order at the same instant.
func (c *Pool) Race(ctx context.Context, random *rand.Rand) {
	o := c.book.Add(random, c.noDelays)
	start := make(chan struct{})
	var creators sync.WaitGroup
	for range ConcurrentCreates {
		creators.Go(func() {
			<-start
			c.Create(ctx, o)
		})
	}
	close(start)
	creators.Wait()
}

// Create creates the order's transaction.
func (c *Pool) Create(ctx context.Context, o *Order) {
	c.exchange(ctx, o, http.MethodPost, "/api/v1/transactions", o.body, o.redactedBody)
}

// Read reads the order's transaction.
func (c *Pool) Read(ctx context.Context, o *Order) {
	c.exchange(ctx, o, http.MethodGet, "/api/v1/transactions/"+c.book.LastState(o).ID, nil, nil)
}

// exchange sends a request about an order and records the response in the book.
func (c *Pool) exchange(ctx context.Context, o *Order, method, path string, body, recordedBody []byte) {
	previous := c.book.LastState(o)
	s := c.sandbox
	status, response := c.Do(ctx, method, path, body, "x-api-key", s.APIKey)
	c.book.record(o, previous, answerLine{Method: method, Path: path, Body: recordedBody, Status: status, Response: response})
}

// Do makes one request. Status 0 means that no complete response came.
func (c *Pool) Do(ctx context.Context, method, path string, body []byte, header, credential string) (int, json.RawMessage) {
	s := c.sandbox
	request, err := http.NewRequestWithContext(ctx, method, s.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil
	}
	request.Header.Set(header, credential)
	request.Header.Set("x-organization-id", s.OrganizationID)
	if body != nil {
		request.Header.Set("content-type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil
	}
	return response.StatusCode, content
}

// Advance moves the server's manual clock forward. If the server refuses the request, Advance returns an error. If no response
// arrives, it returns nil.
func (c *Pool) Advance(ctx context.Context, seconds int) error {
	body := fmt.Appendf(nil, `{"advance_seconds":%d}`, seconds)
	status, response := c.Do(ctx, http.MethodPut, "/api/v1/sandbox/clock", body, "authorization", "Bearer "+c.sandbox.AdminToken)
	if status != 0 && status != http.StatusOK {
		return fmt.Errorf("moving the clock answered %d: %s", status, response)
	}
	return nil
}

// Each calls fn for every order. It uses as many goroutines as there are clients.
func (c *Pool) Each(orders []*Order, fn func(*Order)) {
	queue := make(chan *Order)
	var workers sync.WaitGroup
	for range Clients {
		workers.Go(func() {
			for o := range queue {
				fn(o)
			}
		})
	}
	for _, o := range orders {
		queue <- o
	}
	close(queue)
	workers.Wait()
}
