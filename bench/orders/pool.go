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
func (p *Pool) Close() { p.http.CloseIdleConnections() }

// SetTimeout bounds the time of each further request, from its start until its response is complete.
func (p *Pool) SetTimeout(d time.Duration) { p.http.Timeout = d }

// Work acts as one client until ctx ends. It creates transactions, repeats create requests, and reads transactions.
func (p *Pool) Work(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		p.WorkOnce(ctx, random)
	}
}

// WorkOnce makes one request, which it chooses at random.
func (p *Pool) WorkOnce(ctx context.Context, random *rand.Rand) {
	roll := random.IntN(100)
	o := p.book.randomOrder(random)
	switch {
	case o == nil || roll < 70:
		p.Create(ctx, p.book.Add(random, p.noDelays))
	case roll < 85 || p.book.LastState(o).ID == "":
		p.Create(ctx, o)
	default:
		p.Read(ctx, o)
	}
}

// Race sends many create requests for one new order at the same instant.
func (p *Pool) Race(ctx context.Context, random *rand.Rand) {
	o := p.book.Add(random, p.noDelays)
	start := make(chan struct{})
	var creators sync.WaitGroup
	for range ConcurrentCreates {
		creators.Go(func() {
			<-start
			p.Create(ctx, o)
		})
	}
	close(start)
	creators.Wait()
}

// Create creates the order's transaction.
func (p *Pool) Create(ctx context.Context, o *Order) {
	p.exchange(ctx, o, http.MethodPost, "/api/v1/transactions", o.body, o.redactedBody)
}

// Read reads the order's transaction.
func (p *Pool) Read(ctx context.Context, o *Order) {
	p.exchange(ctx, o, http.MethodGet, "/api/v1/transactions/"+p.book.LastState(o).ID, nil, nil)
}

// exchange sends a request about an order and records the response in the book.
func (p *Pool) exchange(ctx context.Context, o *Order, method, path string, body, recordedBody []byte) {
	previous := p.book.LastState(o)
	s := p.sandbox
	status, response := p.Do(ctx, method, path, body, "x-api-key", s.APIKey)
	p.book.record(o, previous, answerLine{Method: method, Path: path, Body: recordedBody, Status: status, Response: response})
}

// Do makes one request. Status 0 means that no complete response came.
func (p *Pool) Do(ctx context.Context, method, path string, body []byte, header, credential string) (int, json.RawMessage) {
	s := p.sandbox
	request, err := http.NewRequestWithContext(ctx, method, s.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil
	}
	request.Header.Set(header, credential)
	request.Header.Set("x-organization-id", s.OrganizationID)
	if body != nil {
		request.Header.Set("content-type", "application/json")
	}
	response, err := p.http.Do(request)
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
func (p *Pool) Advance(ctx context.Context, seconds int) error {
	body := fmt.Appendf(nil, `{"advance_seconds":%d}`, seconds)
	status, response := p.Do(ctx, http.MethodPut, "/api/v1/sandbox/clock", body, "authorization", "Bearer "+p.sandbox.AdminToken)
	if status != 0 && status != http.StatusOK {
		return fmt.Errorf("moving the clock answered %d: %s", status, response)
	}
	return nil
}

// Each calls fn for every order. It uses as many goroutines as there are clients.
func (p *Pool) Each(orders []*Order, fn func(*Order)) {
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
