package serving

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"mizan/cmd/mizan/serving/certificates"
	"mizan/internal/testkit"
)

// acmeDomain is the domain for which the tests obtain a certificate. Their DNS server resolves every name to this machine.
const acmeDomain = "pay.bank.example"

// pebble is a running Pebble, the ACME server with which Let's Encrypt tests clients.
type pebble struct {
	directory string // URL of its directory
	rootFile  string // file with the authority that issues the certificates
	trustFile string // file with the authority of Pebble's own HTTPS certificate
}

// startPebble starts an ACME server that verifies domains by TLS handshakes at the port tlsPort.
func startPebble(t *testing.T, tlsPort uint16) *pebble {
	t.Helper()
	program := testkit.Tool(t, "pebble")
	dir := t.TempDir()
	makeCertificate(t, dir)
	directory, management := freeAddress(t), freeAddress(t)
	settings, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": directory, "managementListenAddress": management, "httpPort": 1, "tlsPort": tlsPort,
		"certificate": filepath.Join(dir, certificates.CertFile), "privateKey": filepath.Join(dir, certificates.KeyFile),
		"retryAfter": map[string]int{"authz": 1, "order": 1},
		"profiles":   map[string]any{"default": map[string]any{"description": "the default", "validityPeriod": 90 * 24 * 3600}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-config", testkit.WriteFile(t, "pebble.json", string(settings)), "-dnsserver", serveNames(t), "-strict")
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0")
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log("pebble:\n" + log.String())
		}
	})
	p := &pebble{directory: "https://" + directory + "/dir", trustFile: filepath.Join(dir, certificates.CAFile)}
	trust, err := os.ReadFile(p.trustFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(trust)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	testkit.WaitUntil(t, "pebble's root", func() bool {
		response, err := (&http.Client{Transport: transport}).Get("https://" + management + "/roots/0")
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		root, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			return false
		}
		p.rootFile = testkit.WriteFile(t, "root.pem", string(root))
		return true
	})
	return p
}

// freeAddress returns an address of this machine that nobody uses now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// serveNames starts a DNS server over TCP that resolves every name to 127.0.0.1, and returns the DNS server's address.
func serveNames(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = answerMessage(c) // an error needs no handling, because a client that gets no response asks again
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// answerMessage reads one DNS message and responds to it. Over TCP, each message follows two bytes with its length (RFC 1035,
// 4.2.2).
func answerMessage(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	var length [2]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return err
	}
	query := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(c, query); err != nil {
		return err
	}
	response, err := answerQuestion(query)
	if err != nil {
		return err
	}
	_, err = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(response))), response...))
	return err
}

// answerQuestion returns the response to a DNS message with one question.
func answerQuestion(query []byte) ([]byte, error) {
	var message dnsmessage.Message
	if err := message.Unpack(query); err != nil {
		return nil, err
	}
	if len(message.Questions) != 1 {
		return nil, errors.New("not one question")
	}
	question := message.Questions[0]
	message.Response, message.RecursionAvailable, message.Additionals = true, true, nil
	if question.Type == dnsmessage.TypeA {
		message.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: 1},
			Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
	return message.Pack()
}

// With --tls acme the server obtains a certificate from the ACME authority soon after its start. It still has the certificate
// after a restart, and other users can't read its keys.
func TestCertificateIsObtainedByACME(t *testing.T) {
	testkit.NotUnderRace(t, "the goroutines are those of autocert, which has race tests of its own")
	address := freeAddress(t)
	authority := startPebble(t, netip.MustParseAddrPort(address).Port())
	s := testkit.Start(t, testkit.Options{
		Flags: []string{"--listen", address, "--tls", "acme", "--acme-domains", acmeDomain, "--acme-email", "ops@bank.example", "--acme-directory", authority.directory},
		Env:   []string{"SSL_CERT_FILE=" + authority.trustFile}, TrustedCertificates: authority.rootFile, ServerName: acmeDomain,
	})
	testkit.Pay(t, s.Partner(), "over a certificate by ACME")
	testkit.WaitUntil(t, "the certificate that the server has requested without a client", func() bool {
		return strings.Contains(s.Stderr(), "msg=certificate domain="+acmeDomain)
	})
	if s.Sandbox.BaseURL != "https://"+acmeDomain || s.Sandbox.CAFile != "" {
		t.Errorf("base_url is %q, ca_file is %q", s.Sandbox.BaseURL, s.Sandbox.CAFile)
	}
	serial := certificateSerial(t, s) // for a client that names no domain
	cache := filepath.Join(s.Dir, "tls", "acme")
	if stat, err := os.Stat(cache); err != nil || stat.Mode().Perm() != 0o700 {
		t.Errorf("%s: %v, %v", cache, stat, err)
	}
	entries, err := os.ReadDir(cache)
	if err != nil || len(entries) < 2 { // one file has the account's key, the other the certificate with its key
		t.Errorf("%d files in %s, %v", len(entries), cache, err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", entry.Name(), info.Mode(), err)
		}
	}
	if conn, err := tls.Dial("tcp", address, &tls.Config{ServerName: "other.example", InsecureSkipVerify: true}); err == nil {
		_ = conn.Close()
		t.Error("a domain that is not configured has a certificate")
	}
	s.Signal(syscall.SIGHUP)
	testkit.WaitUntil(t, "the log's line", func() bool {
		return strings.Contains(s.Stderr(), "SIGHUP: configuration and certificates were read again")
	})

	if code := s.Stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	s.Restart()
	if again := certificateSerial(t, s); again != serial {
		t.Errorf("after a restart the certificate is %s, want %s", again, serial)
	}
}
