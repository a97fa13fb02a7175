package echo

import (
	"fmt"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
)

// Bounds of the server. If a request's body is larger than MaxBody, the status is 413. If there are more than
// MaxConnections connections, it is 503.
const (
	MaxConnections = 10_000
	MaxBody        = 64 << 10 // bytes
	readTimeout    = 30 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	stopTimeout    = 5 * time.Second
)

// Server echoes requests. The zero value is not usable.
type Server struct{ app *fiber.App }

// New returns a server that does nothing before Serve is called.
func New() *Server {
	app := fiber.New(fiber.Config{
		DisableStartupMessage: true,
		Concurrency:           MaxConnections,
		BodyLimit:             MaxBody,
		ReadTimeout:           readTimeout,
		WriteTimeout:          writeTimeout,
		IdleTimeout:           idleTimeout,
	})
	app.Post("*", func(c *fiber.Ctx) error { return c.Send(c.Body()) })
	return &Server{app}
}

// Serve answers requests on the listener until Stop is called, and closes the listener. It refuses a listener whose
// address is not a loopback address.
func (s *Server) Serve(l net.Listener) error {
	if address, ok := l.Addr().(*net.TCPAddr); !ok || !address.IP.IsLoopback() {
		_ = l.Close()
		return fmt.Errorf("echo: %v is not a loopback address", l.Addr())
	}
	return s.app.Listener(l)
}

// Stop ends Serve. It waits a few seconds for running requests.
func (s *Server) Stop() error { return s.app.ShutdownWithTimeout(stopTimeout) }
