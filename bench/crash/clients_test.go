package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"

	"mizan/bench/server"
)

const (
	clients           = 32 // concurrent clients
	concurrentCreates = 64 // of one txid
)

// clientPool is the set of clients of a running server.
type clientPool struct {
	book     *book
	server   *server.Server
	http     *http.Client
	noDelays bool // new orders have no delayed outcome
}

func newClientPool(b *book, s *server.Server, noDelays bool) (*clientPool, error) {
	client, err := s.Sandbox.Client()
	return &clientPool{book: b, server: s, http: client, noDelays: noDelays}, err
}

// work is one client: it creates orders, repeats creates, and reads, until ctx ends.
func (c *clientPool) work(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		roll := random.IntN(100)
		o := c.book.randomOrder(random)
		switch {
		case o == nil || roll < 70:
			c.create(ctx, c.book.add(random, c.noDelays))
		case roll < 85 || c.book.lastState(o).ID == "":
			c.create(ctx, o)
		default:
			c.read(ctx, o)
		}
	}
}

// race creates the transaction of one new order many times at the same instant.
func (c *clientPool) race(ctx context.Context, random *rand.Rand) {
	o := c.book.add(random, c.noDelays)
	start := make(chan struct{})
	var creators sync.WaitGroup
	for range concurrentCreates {
		creators.Go(func() {
			<-start
			c.create(ctx, o)
		})
	}
	close(start)
	creators.Wait()
}

// create creates the order's transaction.
func (c *clientPool) create(ctx context.Context, o *order) {
	c.exchange(ctx, o, http.MethodPost, "/api/v1/transactions", o.body, o.redactedBody)
}

// read reads the order's transaction.
func (c *clientPool) read(ctx context.Context, o *order) {
	c.exchange(ctx, o, http.MethodGet, "/api/v1/transactions/"+c.book.lastState(o).ID, nil, nil)
}

// exchange makes a request about the order and records the response in the book.
func (c *clientPool) exchange(ctx context.Context, o *order, method, path string, body, recordedBody []byte) {
	previous := c.book.lastState(o)
	s := &c.server.Sandbox
	status, response := c.do(ctx, method, path, body, "x-api-key", s.APIKey)
	c.book.record(o, previous, answerLine{Method: method, Path: path, Body: recordedBody, Status: status, Response: response})
}

// do makes one request. Status 0 means that no complete response came.
func (c *clientPool) do(ctx context.Context, method, path string, body []byte, header, credential string) (int, json.RawMessage) {
	s := &c.server.Sandbox
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

// advance moves a manual clock. A refusal is an error; a missing response is not.
func (c *clientPool) advance(ctx context.Context, seconds int) error {
	body := fmt.Appendf(nil, `{"advance_seconds":%d}`, seconds)
	status, response := c.do(ctx, http.MethodPut, "/api/v1/sandbox/clock", body, "authorization", "Bearer "+c.server.Sandbox.AdminToken)
	if status != 0 && status != http.StatusOK {
		return fmt.Errorf("moving the clock answered %d: %s", status, response)
	}
	return nil
}

// each calls fn for every order, with as many goroutines as there are clients.
func (c *clientPool) each(orders []*order, fn func(*order)) {
	queue := make(chan *order)
	var workers sync.WaitGroup
	for range clients {
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
