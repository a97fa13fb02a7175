package testkit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Options tells Start how to start a server.
type Options struct {
	Dir   string   // data directory; if empty, a new directory that is removed after the test
	Flags []string // additional arguments, after serve, --data and --listen
	Env   []string // environment variables to add to the variables of this process

	WithoutRaceDetector bool // run without the race detector, for tests that read the server's memory
	OpenFiles           int  // maximum number of open files; if 0, the limit of this process

	// WithoutSandbox starts the server without --sandbox, so that there is no sandbox.json.
	WithoutSandbox bool

	// TrustedCertificates is the path of a file with certificates that clients trust. If the path is empty, clients trust the
	// server's own certificate authority.
	TrustedCertificates string

	// ServerName is the name that clients expect in the server's certificate. If ServerName is empty, clients expect the host
	// of BaseURL.
	ServerName string
}

// Sandbox is the content of DIR/sandbox.json.
type Sandbox struct {
	BaseURL        string `json:"base_url"`
	CAFile         string `json:"ca_file"`
	AdminToken     string `json:"admin_token"`
	OrganizationID string `json:"organization_id"`
	PartnerID      int64  `json:"partner_id"`
	APIKey         string `json:"api_key"`
	PartnerLogin   string `json:"partner_login"`
	PartnerPass    string `json:"partner_pass"`
	SessionToken   string `json:"session_token"`
	AuditorToken   string `json:"auditor_token"`
	ConsoleURL     string `json:"console_url"`
	AdminLogin     string `json:"admin_login"`
	AdminPass      string `json:"admin_pass"`
	AuditorLogin   string `json:"auditor_login"`
	AuditorPass    string `json:"auditor_pass"`
	ClientLogin    string `json:"client_login"`
	ClientPass     string `json:"client_pass"`
	Second         struct {
		OrganizationID string `json:"organization_id"`
		PartnerID      int64  `json:"partner_id"`
		APIKey         string `json:"api_key"`
		SessionToken   string `json:"session_token"`
	} `json:"second"`
}

// ConsoleLogin returns the login and the password of the user who has the role in the first organization. The role is admin,
// auditor, client or partner.
func (s *Sandbox) ConsoleLogin(role string) (login, pass string) {
	switch role {
	case "admin":
		return s.AdminLogin, s.AdminPass
	case "auditor":
		return s.AuditorLogin, s.AuditorPass
	case "client":
		return s.ClientLogin, s.ClientPass
	}
	return s.PartnerLogin, s.PartnerPass
}

// Server is a running server.
type Server struct {
	Dir     string
	BaseURL string  // the URL of the address on which the server listens, not the value of --base-url
	Sandbox Sandbox // content of sandbox.json after the last start; empty if Options.WithoutSandbox is set

	tb      testing.TB
	options Options
	process *process
}

// Start starts a server on a free loopback port and waits until the health check reports ok.
// The server is killed when the test ends.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(tb.TempDir(), "data")
	}
	s := &Server{Dir: o.Dir, tb: tb, options: o}
	s.start()
	return s
}

// Restart starts the server again with the same data directory, after Kill or Stop. If flags are given, they replace the flags
// of the last start.
func (s *Server) Restart(flags ...string) {
	s.tb.Helper()
	if s.process.isRunning() {
		s.tb.Fatal("restart of a server that runs")
	}
	if len(flags) > 0 {
		s.options.Flags = flags
	}
	s.start()
}

func (s *Server) start() {
	s.tb.Helper()
	args := []string{"serve", "--data", s.Dir, "--listen", "127.0.0.1:0"}
	if !s.options.WithoutSandbox {
		args = append(args, "--sandbox")
	}
	binaryPath := RaceBinary
	if s.options.WithoutRaceDetector {
		binaryPath = Binary
	}
	program := binaryPath(s.tb) // may build the binary; the timeout starts afterwards
	startTime := time.Now()
	s.process = launch(s.tb, program, s.options.OpenFiles, s.options.Env, slices.Concat(args, s.options.Flags))
	select {
	case s.BaseURL = <-s.process.ready:
	case <-s.process.ended:
		s.tb.Fatalf("the server ended with %d before it was ready\n%s%s",
			s.process.cmd.ProcessState.ExitCode(), s.process.stdout.String(), s.process.stderr.String())
	case <-time.After(startTimeout):
		s.process.signal(s.tb, syscall.SIGQUIT)
		s.process.kill(s.tb)
		s.tb.Fatalf("the server was not ready within %v\n%s", startTimeout, s.process.stderr.String())
	}
	s.Sandbox = Sandbox{}
	if !s.options.WithoutSandbox {
		content, err := os.ReadFile(filepath.Join(s.Dir, "sandbox.json"))
		if err != nil {
			s.tb.Fatal(err)
		}
		if err := json.Unmarshal(content, &s.Sandbox); err != nil {
			s.tb.Fatalf("sandbox.json: %v", err)
		}
	}
	s.waitHealthy(startTime.Add(startTimeout))
}

// waitHealthy waits until the health check reports ok. When the server prints the ready line, it already accepts connections,
// so usually the first response is ok.
func (s *Server) waitHealthy(deadline time.Time) {
	s.tb.Helper()
	var health struct {
		CoreStatus string `json:"core_status"`
	}
	for s.process.isRunning() && time.Now().Before(deadline) {
		answer, err := s.Anyone().Get("/api/v1/health")
		if err != nil {
			s.tb.Fatalf("health: %v\n%s", err, s.Stderr())
		}
		if err := answer.JSON(&health); err == nil && answer.Status == 200 && health.CoreStatus == "ok" {
			return
		}
	}
	s.tb.Fatalf("health never said ok, last %q\n%s", health.CoreStatus, s.Stderr())
}

// PID returns the server's process id.
func (s *Server) PID() int { return s.process.cmd.Process.Pid }

// Stdout returns what the server has printed since its last start.
func (s *Server) Stdout() string { return s.process.stdout.String() }

// Stderr returns what the server has logged since its last start.
func (s *Server) Stderr() string { return s.process.stderr.String() }

// Kill ends the server with SIGKILL. Unlike in a power cut, the kernel's page cache survives.
func (s *Server) Kill() {
	s.tb.Helper()
	s.process.kill(s.tb)
}

// Signal sends a signal to the server and returns immediately.
func (s *Server) Signal(sig os.Signal) {
	s.tb.Helper()
	s.process.signal(s.tb, sig)
}

// Wait waits until the server has ended and returns its exit code. If a signal ended the server, Wait returns -1.
func (s *Server) Wait() int {
	s.tb.Helper()
	return s.process.wait(s.tb, stopTimeout)
}

// Stop sends SIGTERM to the server, waits until the server has ended, and returns its exit code.
func (s *Server) Stop() int {
	s.tb.Helper()
	s.Signal(syscall.SIGTERM)
	return s.Wait()
}
