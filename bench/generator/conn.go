package generator

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

// DialTimeout bounds the wait for a connection.
const DialTimeout = 10 * time.Second

const initialBuffer = 8 << 10 // size of a new receive buffer in bytes; the buffer grows if a response is longer

// Dialer opens connections to the target.
type Dialer struct {
	address string
	host    string
	tls     *tls.Config
}

// NewDialer returns a dialer for a base URL. The URL consists of a scheme (http or https), a host and an optional port.
func NewDialer(baseURL string, config *tls.Config) (*Dialer, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || (u.Path != "" && u.Path != "/") {
		return nil, fmt.Errorf("bench: %q is no base URL", baseURL)
	}
	d := &Dialer{host: u.Host, address: u.Host}
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
	return nil, fmt.Errorf("bench: %q is neither http nor https", baseURL)
}

// Host returns the value of the Host header for requests to the target.
func (d *Dialer) Host() string { return d.host }

// Conn is one keep-alive connection. Only one goroutine may use it, but any goroutine may set its deadlines.
type Conn struct {
	net.Conn
	raw          syscall.RawConn       // nil with TLS
	pollCallback func(fd uintptr) bool // the method value onPoll, made once because making it allocates

	unsent   []byte
	received []byte // bytes of the response that have arrived
	response Response
	err      error
}

// Dial opens a connection. The caller closes it.
func (d *Dialer) Dial(ctx context.Context) (*Conn, error) {
	netDialer := net.Dialer{Timeout: DialTimeout}
	c := &Conn{received: make([]byte, 0, initialBuffer)}
	if d.tls != nil {
		tlsDialer := tls.Dialer{NetDialer: &netDialer, Config: d.tls}
		var err error
		c.Conn, err = tlsDialer.DialContext(ctx, "tcp", d.address)
		return c, err
	}
	opened, err := netDialer.DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, err
	}
	c.Conn = opened
	c.raw, err = opened.(*net.TCPConn).SyscallConn()
	c.pollCallback = c.onPoll
	return c, err
}

// Exchange sends a request and waits for the response. The response is valid until the next exchange. After an error the
// connection can't be used any more.
func (c *Conn) Exchange(request []byte) (*Response, error) {
	c.unsent, c.received, c.err = request, c.received[:0], nil
	if c.raw == nil {
		return &c.response, c.exchangeStream()
	}
	if err := c.raw.Read(c.pollCallback); err != nil {
		return nil, err
	}
	return &c.response, c.err
}

// onPoll makes an exchange. RawConn.Read calls onPoll at once, and again each time that data has arrived. The first call sends
// the request. It does not try to read, because the response can't have arrived yet, and the runtime's poller already watches
// the connection. An exchange thus needs two system calls instead of three. Later calls read. onPoll returns true when the
// exchange has ended.
func (c *Conn) onPoll(fd uintptr) bool {
	if len(c.unsent) > 0 {
		n, err := retryInterrupted(syscall.Write, fd, c.unsent)
		if err == nil && n < len(c.unsent) {
			err = io.ErrShortWrite // an empty send buffer has room for a whole request
		}
		c.unsent, c.err = nil, err
		return err != nil
	}
	for {
		n, err := retryInterrupted(syscall.Read, fd, c.freeBuffer())
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
		// Read until no bytes are left: the poller reports each change only once, and the server may have closed the connection
		// together with these bytes.
	}
}

// retryInterrupted repeats a system call as long as a signal interrupts it.
func retryInterrupted(call func(int, []byte) (int, error), fd uintptr, b []byte) (int, error) {
	for {
		n, err := call(int(fd), b)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// exchangeStream makes an exchange over TLS.
func (c *Conn) exchangeStream() error {
	if _, err := c.Write(c.unsent); err != nil {
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

// freeBuffer returns the free part of the receive buffer. If the buffer is full, it is enlarged first.
func (c *Conn) freeBuffer() []byte {
	if len(c.received) == cap(c.received) {
		c.received = append(make([]byte, 0, 2*cap(c.received)), c.received...)
	}
	return c.received[len(c.received):cap(c.received)]
}

// addReceived is called after n bytes were read into the free part of the buffer. It returns true if the response is now
// complete or malformed.
func (c *Conn) addReceived(n int) bool {
	c.received = c.received[:len(c.received)+n]
	a, size, err := parseResponse(c.received)
	if err == nil && size != 0 && size != len(c.received) {
		err = errMalformed // there are bytes after the response
	}
	c.response, c.err = a, err
	return err != nil || size != 0
}
