package load

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// slowTick is how often a slow client reads or writes a little.
	slowTick = 200 * time.Millisecond

	// unreadLists is the number of lists that a slow reader requests. A list has a hundred transactions, 90 KB. With more of
	// them the test would measure lists instead of slow connections.
	unreadLists = 4
)

// crowd has connections that do nothing useful: idle ones, slow readers and slow writers. Each of them comes from one of many
// loopback addresses.
type crowd struct {
	clients sync.WaitGroup
	opened  atomic.Int64
	closed  atomic.Int64 // number of connections that the server has closed
}

// idle opens n connections that stay open until ctx ends. On every second one it first sends a request with a valid key.
func (c *crowd) idle(ctx context.Context, s *testServer, n int, key string) {
	opened := make(chan struct{})
	for i := range n {
		c.clients.Go(func() {
			conn, err := s.dialFrom(ctx, 2+i%4)
			opened <- struct{}{}
			if err != nil {
				return
			}
			c.opened.Add(1)
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			if i%2 == 0 {
				_, _ = fmt.Fprintf(conn, "GET /api/v1/balances HTTP/1.1\r\nHost: h\r\nx-api-key: %s\r\nx-organization-id: %s\r\n\r\n", key, s.Sandbox.OrganizationID)
			}
			buffer := make([]byte, 1024)
			for {
				if _, err := conn.Read(buffer); err != nil {
					break
				}
			}
			_ = conn.Close()
			if ctx.Err() == nil {
				c.closed.Add(1)
			}
		})
		if i%64 == 63 { // a full backlog would delay the connections by a second each
			for range 64 {
				<-opened
			}
		}
	}
	for range n % 64 {
		<-opened
	}
}

// slow opens connections that read or write a little at a time, and open again when the server closes them, until ctx ends.
func (c *crowd) slow(ctx context.Context, s *testServer, n int, key string) {
	head := fmt.Sprintf("Host: h\r\nx-api-key: %s\r\nx-organization-id: %s\r\n", key, s.Sandbox.OrganizationID)
	list := "GET /api/v1/transactions?limit=100 HTTP/1.1\r\n" + head + "\r\n"
	body := "POST /api/v1/transactions HTTP/1.1\r\n" + head + "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
	kinds := []func(conn net.Conn, tick int) error{
		func(conn net.Conn, tick int) error { // asks for more than fits into the buffers, and reads a hundred bytes at a time
			if tick < unreadLists {
				if _, err := conn.Write([]byte(list)); err != nil {
					return err
				}
			}
			_ = conn.SetReadDeadline(time.Now().Add(slowTick))
			_, err := conn.Read(make([]byte, 100))
			return ignoreTimeout(err)
		},
		func(conn net.Conn, tick int) error { // one byte of the head at a time
			_, err := conn.Write([]byte{list[tick%(len(list)-4)]})
			return err
		},
		func(conn net.Conn, tick int) error { // a hundred bytes of the body at a time
			if tick == 0 {
				_, err := conn.Write([]byte(body))
				return err
			}
			_, err := conn.Write(make([]byte, 100))
			return err
		},
	}
	for i := range n {
		c.clients.Go(func() {
			for ctx.Err() == nil {
				c.runSlow(ctx, s, 6+i%4, kinds[i%len(kinds)])
			}
		})
	}
}

// runSlow runs one slow connection until the server closes it.
func (c *crowd) runSlow(ctx context.Context, s *testServer, address int, act func(conn net.Conn, tick int) error) {
	tick := time.NewTicker(slowTick)
	defer tick.Stop()
	conn, err := s.dialFrom(ctx, address)
	if err == nil {
		c.opened.Add(1)
		defer func() { _ = conn.Close() }()
		_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	}
	for n := 0; err == nil; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err = act(conn, n); err != nil && ctx.Err() == nil {
			c.closed.Add(1)
		}
	}
	select { // wait for the next tick, so that failures to connect do not follow each other at once
	case <-ctx.Done():
	case <-tick.C:
	}
}

func ignoreTimeout(err error) error {
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		return nil
	}
	return err
}

// prober asks for the server's health over a new connection each time.
type prober struct {
	mu    sync.Mutex
	took  []time.Duration // latencies since the last call of take
	wrong []string
}

// run probes until ctx ends.
func (p *prober) run(ctx context.Context, s *testServer) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		began := time.Now()
		response, err := client.Get(s.Sandbox.BaseURL + "/api/v1/health")
		took := time.Since(began)
		status := 0
		if err == nil {
			status = response.StatusCode
			_ = response.Body.Close()
		}
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		p.took = append(p.took, took)
		if status != http.StatusOK {
			p.wrong = append(p.wrong, fmt.Sprintf("%d %v", status, err))
		}
		p.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// take returns the latencies since its last call.
func (p *prober) take() distribution {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := distributionOf(p.took)
	p.took = nil
	return d
}

// distribution summarizes latencies.
type distribution struct {
	count         int
	p50, p99, max time.Duration
}

func distributionOf(took []time.Duration) distribution {
	slices.Sort(took)
	n := len(took)
	if n == 0 {
		return distribution{}
	}
	return distribution{n, took[n/2], took[n*99/100], took[n-1]}
}

func (d distribution) String() string {
	return fmt.Sprintf("%.1f, %.1f, %.1f", milliseconds(d.p50), milliseconds(d.p99), milliseconds(d.max))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
