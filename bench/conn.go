package bench

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"time"
)

const (
	dialTimeout = 10 * time.Second
	firstBuffer = 8 << 10 // bytes; the buffer grows to the longest response
)

// dialer opens connections to the target.
type dialer struct {
	address string
	host    string // the Host header
	tls     *tls.Config
}

// newDialer parses a base URL: http or https, host, port, nothing else.
func newDialer(base string, config *tls.Config) (*dialer, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Path != "" && u.Path != "/") {
		return nil, fmt.Errorf("bench: %q is no base URL", base)
	}
	d := &dialer{host: u.Host, address: u.Host}
	switch u.Scheme {
	case "http":
		if u.Port() == "" {
			d.address = net.JoinHostPort(u.Hostname(), "80")
		}
		return d, nil
	case "https":
		if u.Port() == "" {
			d.address = net.JoinHostPort(u.Hostname(), "443")
		}
		if config == nil {
			config = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		d.tls = config.Clone()
		d.tls.ServerName = u.Hostname()
		return d, nil
	}
	return nil, fmt.Errorf("bench: %q is neither http nor https", base)
}

// conn is one keep-alive connection. One goroutine uses it; any goroutine may set its
// deadlines.
type conn struct {
	net.Conn
	raw  syscall.RawConn       // nil with TLS
	step func(fd uintptr) bool // onPoll, as the poller calls it

	out      []byte // bytes that are still to be sent
	in       []byte // bytes that have arrived
	response response
	err      error
}

func (d *dialer) dial(ctx context.Context) (*conn, error) {
	netDialer := net.Dialer{Timeout: dialTimeout}
	c := &conn{in: make([]byte, 0, firstBuffer)}
	if d.tls != nil {
		secure := tls.Dialer{NetDialer: &netDialer, Config: d.tls}
		var err error
		c.Conn, err = secure.DialContext(ctx, "tcp", d.address)
		return c, err
	}
	opened, err := netDialer.DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, err
	}
	c.Conn = opened
	c.raw, err = opened.(*net.TCPConn).SyscallConn()
	c.step = c.onPoll
	return c, err
}

// exchange sends a request and waits for the response, which is valid until the next exchange. After an
// error the connection can't be used any more.
func (c *conn) exchange(request []byte) (*response, error) {
	c.out, c.in, c.err = request, c.in[:0], nil
	if c.raw == nil {
		return &c.response, c.exchangeStream()
	}
	if err := c.raw.Read(c.step); err != nil {
		return nil, err
	}
	return &c.response, c.err
}

// onPoll is called by the runtime's poller: first immediately, to send the request, and then each time
// the connection can be read. Because it sends in the poller's callback, the poller is armed before the
// request leaves. So the read before waiting, which usually finds nothing, can be omitted. That saves
// one of three system calls.
func (c *conn) onPoll(fd uintptr) bool {
	if len(c.out) > 0 {
		n, err := retry(syscall.Write, fd, c.out)
		if err == nil && n < len(c.out) {
			err = io.ErrShortWrite // an empty send buffer accepts a whole request
		}
		c.out, c.err = nil, err
		return err != nil
	}
	for {
		n, err := retry(syscall.Read, fd, c.freeBuffer())
		if errors.Is(err, syscall.EAGAIN) {
			return false
		}
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			c.err = err
			return true
		}
		if c.addReceived(n) {
			return true
		}
		// Read until no bytes are left: the poller reports each change only once, and the end of the
		// connection may have arrived together with these bytes.
	}
}

func retry(call func(int, []byte) (int, error), fd uintptr, b []byte) (int, error) {
	for {
		n, err := call(int(fd), b)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// exchangeStream is exchange over TLS.
func (c *conn) exchangeStream() error {
	if _, err := c.Write(c.out); err != nil {
		return err
	}
	for {
		n, err := c.Read(c.freeBuffer())
		if n > 0 && c.addReceived(n) {
			return c.err
		}
		if err != nil {
			return err
		}
	}
}

// freeBuffer returns the free part of the buffer for the next bytes.
func (c *conn) freeBuffer() []byte {
	if len(c.in) == cap(c.in) {
		c.in = append(make([]byte, 0, 2*cap(c.in)), c.in...)
	}
	return c.in[len(c.in):cap(c.in)]
}

// addReceived adds n bytes and tells whether the response is complete or malformed.
func (c *conn) addReceived(n int) bool {
	c.in = c.in[:len(c.in)+n]
	a, size, err := parseResponse(c.in)
	if err == nil && size != 0 && size != len(c.in) {
		err = errResponse // more bytes than one response
	}
	c.response, c.err = a, err
	return err != nil || size != 0
}
