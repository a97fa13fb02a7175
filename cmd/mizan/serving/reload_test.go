package serving

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"mizan/cmd/mizan/serving/certificates"
	"mizan/internal/testkit"
)

// makeCertificate writes a certificate for this machine into dir. Unless dir has a certificate authority, it creates one.
func makeCertificate(t *testing.T, dir string) {
	t.Helper()
	if _, err := certificates.OpenAuthority(dir, []string{"localhost", "127.0.0.1"}, time.Now); err != nil {
		t.Fatal(err)
	}
}

// replaceCertificate replaces the certificate in dir by another one of the same authority.
func replaceCertificate(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{certificates.CertFile, certificates.KeyFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	makeCertificate(t, dir)
}

// certificateSerial returns the serial number of the server's certificate.
func certificateSerial(t *testing.T, s *testkit.Server) string {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.BaseURL, "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A SIGHUP makes the server read the certificate files and the log level again. If any of them is wrong, nothing changes. The
// server keeps running in each case.
func TestSIGHUPReloadsCertificatesAndLogLevel(t *testing.T) {
	dir, configFile := t.TempDir(), filepath.Join(t.TempDir(), "mizan.json")
	makeCertificate(t, dir)
	writeFile(t, configFile, `{"log-level":"info"}`)
	server := testkit.Start(t, testkit.Options{Flags: []string{
		"--config", configFile, "--tls", "files", "--tls-cert", filepath.Join(dir, certificates.CertFile), "--tls-key", filepath.Join(dir, certificates.KeyFile),
	}, TrustedCertificates: filepath.Join(dir, certificates.CAFile)})
	oldSerial := certificateSerial(t, server)

	// A different certificate of the same authority, and a different level.
	replaceCertificate(t, dir)
	writeFile(t, configFile, `{"log-level":"debug","access-log":"off"}`)
	server.Signal(syscall.SIGHUP)
	testkit.WaitUntil(t, "the new certificate", func() bool { return certificateSerial(t, server) != oldSerial })
	testkit.WaitUntil(t, "the new level", func() bool { return strings.Contains(server.Stderr(), "log_level=DEBUG access_log=off") })
	newSerial := certificateSerial(t, server)

	// First a bad certificate, then a bad log level. The log reports each, and nothing changes.
	certificate, err := os.ReadFile(filepath.Join(dir, certificates.CertFile))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, certificates.CertFile), "no certificate")
	server.Signal(syscall.SIGHUP)
	testkit.WaitUntil(t, "the bad certificate's words", func() bool { return strings.Contains(server.Stderr(), "mizan: configuration: tls-cert: ") })
	writeFile(t, filepath.Join(dir, certificates.CertFile), string(certificate))
	writeFile(t, configFile, `{"log-level":"loud"}`)
	server.Signal(syscall.SIGHUP)
	testkit.WaitUntil(t, "the bad level's words", func() bool { return strings.Contains(server.Stderr(), "mizan: configuration: log-level: ") })

	// All files are bad at once. The log has one line about it, and the server continues unchanged.
	errorLines := strings.Count(server.Stderr(), "level=ERROR")
	writeFile(t, filepath.Join(dir, certificates.KeyFile), "no key")
	writeFile(t, configFile, `{"log-level":`)
	server.Signal(syscall.SIGHUP)
	testkit.WaitUntil(t, "the broken file's words", func() bool { return strings.Contains(server.Stderr(), "mizan: configuration: config: ") })
	if got := strings.Count(server.Stderr(), "level=ERROR"); got != errorLines+1 {
		t.Errorf("%d lines for one SIGHUP with broken files:\n%s", got-errorLines, server.Stderr())
	}
	if err := os.Remove(configFile); err != nil {
		t.Fatal(err)
	}
	server.Signal(syscall.SIGHUP)
	testkit.WaitUntil(t, "the missing file's words", func() bool { return strings.Contains(server.Stderr(), "no such file") })
	if got := certificateSerial(t, server); got != newSerial {
		t.Errorf("after bad files the certificate is %s, want %s", got, newSerial)
	}
	testkit.Pay(t, server.Partner(), "after the signals")
	if code := server.Stop(); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
}

// A SIGHUP puts the log level and the access log mode in the configuration file in force. If the certificate file is bad at the
// same time, both settings stay unchanged.
func TestSIGHUPChangesTheLogsOrNothing(t *testing.T) {
	dir, configFile := t.TempDir(), filepath.Join(t.TempDir(), "mizan.toml")
	makeCertificate(t, dir)
	certFile := filepath.Join(dir, certificates.CertFile)
	writeFile(t, configFile, "log-level = 'info'\naccess-log = 'off'\n")
	server := testkit.Start(t, testkit.Options{Flags: []string{
		"--config", configFile, "--tls", "files", "--tls-cert", certFile, "--tls-key", filepath.Join(dir, certificates.KeyFile),
	}, TrustedCertificates: filepath.Join(dir, certificates.CAFile)})
	requests := func() int { return strings.Count(server.Stderr(), "msg=request ") }

	certificate, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, certFile, "no certificate")
	writeFile(t, configFile, "log-level = 'error'\naccess-log = 'all'\n")
	server.Signal(syscall.SIGHUP)
	testkit.WaitUntil(t, "the bad certificate's words", func() bool { return strings.Contains(server.Stderr(), "mizan: configuration: tls-cert: ") })
	testkit.Pay(t, server.Partner(), "not logged")

	writeFile(t, certFile, string(certificate))
	writeFile(t, configFile, "log-level = 'info'\naccess-log = 'all'\n")
	server.Signal(syscall.SIGHUP)
	// The level is still info, so this line is written.
	testkit.WaitUntil(t, "the access log's new mode", func() bool { return strings.Contains(server.Stderr(), "log_level=INFO access_log=all") })
	if n := requests(); n != 0 {
		t.Errorf("%d requests were logged while the access log was off", n)
	}
	testkit.Pay(t, server.Partner(), "logged")
	testkit.WaitUntil(t, "the payment's line", func() bool { return requests() == 1 })

	// The line about this SIGHUP has the level info and is not written, so the test waits for the new certificate instead.
	oldSerial := certificateSerial(t, server)
	replaceCertificate(t, dir)
	writeFile(t, configFile, "log-level = 'error'\n")
	server.Signal(syscall.SIGHUP)
	testkit.WaitUntil(t, "the new certificate", func() bool { return certificateSerial(t, server) != oldSerial })
	if code := server.Stop(); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
	if strings.Contains(server.Stderr(), "msg=stopping") {
		t.Error("a line of level info was written after a SIGHUP has set the level error")
	}
}

// With --tls auto and without a configuration file, a SIGHUP has no file to read again.
func TestSIGHUPWithoutFilesChangesNothing(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	for range 3 {
		s.Signal(syscall.SIGHUP)
		testkit.Pay(t, s.Partner(), "one")
	}
	testkit.WaitUntil(t, "a line with the sandbox's defaults", func() bool { return strings.Contains(s.Stderr(), "log_level=INFO access_log=all") })
	if code := s.Stop(); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
}

// While the server stops, it finishes requests in progress, health checks report that it is stopping,
// and a SIGHUP changes nothing.
func TestHealthChecksReportStopping(t *testing.T) {
	server := testkit.Start(t, testkit.Options{Flags: []string{"--tls", "off"}})
	address := strings.TrimPrefix(server.BaseURL, "http://")
	want := map[string]string{
		"/api/v1/health": `503 {"core_status":"stopping"`,
		"/readyz":        `503 {"status":"stopping"}`,
		"/livez":         `200 {"status":"ok"}`,
	}
	conns := make(map[string]net.Conn)
	for path := range want {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		// The first response shows that the server handles the connection. The incomplete second request keeps the connection
		// open.
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\nGET "+path+" HTTP/1.1\r\nHost"); err != nil {
			t.Fatal(err)
		}
		conns[path] = conn
	}
	readers := make(map[string]*bufio.Reader)
	for path, conn := range conns {
		readers[path] = bufio.NewReader(conn)
		if got := readResponse(t, readers[path]); !strings.HasPrefix(got, "200 ") {
			t.Errorf("%s before the stop: %s", path, got)
		}
	}
	halfSentPayment := sendHalfRequest(t, server)
	server.Signal(syscall.SIGTERM)
	waitUntilRefused(t, server)
	server.Signal(syscall.SIGHUP)
	for path, conn := range conns {
		if _, err := io.WriteString(conn, ": a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if got := readResponse(t, readers[path]); !strings.HasPrefix(got, want[path]) {
			t.Errorf("%s while stopping: %s, want %s", path, got, want[path])
		}
	}
	body := testkit.CardPayment("in-flight")
	if _, err := io.WriteString(halfSentPayment, body[len(body)/2:]); err != nil {
		t.Fatal(err)
	}
	if code := server.Wait(); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
}

// readResponse reads the next response on a connection: its status and body.
func readResponse(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Status[:4] + string(body)
}

// During a slow start the server handles health checks, refuses all other requests, and survives a
// SIGHUP. The start is slow because sandbox.json is a pipe without a writer.
func TestHealthChecksReportStarting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := testkit.Start(t, testkit.Options{Dir: dir, Flags: []string{"--tls", "off"}})
	if code := s.Stop(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	pipe := filepath.Join(dir, "sandbox.json")
	content, err := os.ReadFile(pipe)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testkit.RaceBinary(t), "serve", "--sandbox", "--data", dir, "--listen", "127.0.0.1:0", "--tls", "off")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	baseURL := ""
	lines := bufio.NewScanner(stderr)
	for baseURL == "" && lines.Scan() {
		if found := regexp.MustCompile(`msg=starting address=(\S+)`).FindStringSubmatch(lines.Text()); found != nil {
			baseURL = found[1]
		}
	}
	go func() {
		for lines.Scan() {
		}
	}()
	send := func(method, path string) (status int, retry, body string) {
		t.Helper()
		request, err := http.NewRequest(method, baseURL+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		content, err := io.ReadAll(response.Body)
		if err != nil || response.Header.Get("x-request-id") == "" {
			t.Errorf("%s %s: %v, %v", method, path, response.Header, err)
		}
		return response.StatusCode, response.Header.Get("retry-after"), string(content)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path string
		status       int
		retry, body  string
	}{
		{"GET", "/api/v1/health", 503, "1", `{"core_status":"starting","db_status":"ok",`},
		{"GET", "/readyz", 503, "1", `{"status":"starting"}`},
		{"GET", "/livez", 200, "", `{"status":"ok"}`},
		{"POST", "/api/v1/transactions", 503, "1", `{"error":"unavailable","message":"the service is starting"}`},
		{"POST", "/api/v1/health", 503, "1", `{"error":"unavailable"`},
	} {
		if status, retry, body := send(c.method, c.path); status != c.status || retry != c.retry || !strings.HasPrefix(body, c.body) {
			t.Errorf("%s %s while starting: %d %q %s", c.method, c.path, status, retry, body)
		}
	}
	if err := os.WriteFile(pipe, content, 0o600); err != nil {
		t.Fatal(err)
	}
	ready := bufio.NewScanner(stdout)
	for ready.Scan() && !strings.HasPrefix(ready.Text(), readyPrefix) {
	}
	var health struct {
		CoreStatus string `json:"core_status"`
	}
	if status, _, body := send("GET", "/api/v1/health"); json.Unmarshal([]byte(body), &health) != nil || status != 200 || health.CoreStatus != "ok" {
		t.Errorf("health once ready: %d %s", status, body)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
