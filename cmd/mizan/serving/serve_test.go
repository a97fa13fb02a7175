package serving

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mizan/cmd/mizan/serving/certificates"
	"mizan/internal/testkit"
)

// TestPaymentSurvivesStopAndKill tests the whole product: it pays, stops the server, kills it, reads the payment, and checks the
// store as an auditor would.
func TestPaymentSurvivesStopAndKill(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	firstID := testkit.Pay(t, server.Partner(), "order-1")
	if code := server.Stop(); code != 0 {
		t.Fatalf("SIGTERM ended with %d\n%s", code, server.Stderr())
	}
	server.Restart()
	secondID := testkit.Pay(t, server.Partner(), "order-2")
	server.Kill()
	server.Restart()
	for _, tx := range []string{firstID, secondID} {
		answer, err := server.Partner().Get("/api/v1/transactions/" + tx)
		if testkit.WantStatus(t, answer, err, 200); !bytes.Contains(answer.Body, []byte(`"status":"charged"`)) {
			t.Errorf("after the restarts: %s", answer.Body)
		}
		answer, err = server.Auditor().Get("/api/v1/ledger/entries?env=test&source=" + tx)
		var entries struct {
			Data []struct {
				Event string
			}
		}
		if err := testkit.WantStatus(t, answer, err, 200).JSON(&entries); err != nil || len(entries.Data) != 1 {
			t.Errorf("the auditor sees %s, want one entry", answer.Body)
		}
	}
	if repeatedID := testkit.Pay(t, server.Partner(), "order-1"); repeatedID != firstID {
		t.Errorf("the same txid after restarts made %s, want %s", repeatedID, firstID)
	}
}

func TestAddressInUseIsReported(t *testing.T) {
	testkit.NotUnderRace(t, reasonRefusedStart)
	s := testkit.Start(t, testkit.Options{})
	address := strings.TrimPrefix(s.BaseURL, "https://")
	for flag, freeFlag := range map[string]string{"--listen": "--metrics-listen", "--metrics-listen": "--listen"} {
		r := testkit.Run(t, nil, "serve", "--sandbox", "--data", filepath.Join(t.TempDir(), "data"), flag, address, freeFlag, "127.0.0.1:0")
		if r.Exit != 2 {
			t.Errorf("%s in use: exit %d, want 2", flag, r.Exit)
		}
		testkit.WantOneLine(t, r.Stderr, "mizan: configuration: "+strings.TrimPrefix(flag, "--")+": "+address+" is in use")
	}
}

// A request without TLS gets a response in plain HTTP that tells the client to use HTTPS; versions of TLS before 1.2 are
// refused.
func TestPlainHTTPAndOldTLSAreRefused(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	address := strings.TrimPrefix(s.BaseURL, "https://")

	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 400 Bad Request\r\n")) || !bytes.Contains(answer, []byte(`"this port serves HTTPS only: use https://`)) {
		t.Errorf("plain HTTP on the TLS port was answered: %q, %v", answer, err)
	}

	for version, isAccepted := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		conn, err := tls.Dial("tcp", address, &tls.Config{MinVersion: version, MaxVersion: version, InsecureSkipVerify: true})
		if (err == nil) != isAccepted {
			t.Errorf("%s: %v, want it taken: %v", tls.VersionName(version), err, isAccepted)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
}

func TestCertificateFilesAndBaseURLAreUsed(t *testing.T) {
	dir := t.TempDir()
	makeCertificate(t, dir)
	s := testkit.Start(t, testkit.Options{Flags: []string{
		"--tls", "files", "--tls-cert", filepath.Join(dir, certificates.CertFile), "--tls-key", filepath.Join(dir, certificates.KeyFile),
		"--base-url", "https://localhost:1",
	}, TrustedCertificates: filepath.Join(dir, certificates.CAFile)})
	if s.Sandbox.CAFile != "" {
		t.Errorf("ca_file is %q, want none", s.Sandbox.CAFile)
	}
	if s.Sandbox.BaseURL != "https://localhost:1" {
		t.Errorf("base_url is %q, want the configured one", s.Sandbox.BaseURL)
	}
}

func TestMetricsCountRequestsAndPayments(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0"}})
	testkit.Pay(t, s.Partner(), "one")
	testkit.Pay(t, s.Partner(), "one") // this repeats an earlier request and so creates no transaction
	content := metricsText(t, s)
	for _, want := range []string{
		`mizan_transactions_total{status="charged",type="payment"} 1`,
		`mizan_http_request_duration_seconds_count{method="POST",route="/api/v1/transactions",status="201"} 2`,
		`mizan_build_info{`, "mizan_group_changes_count ", "mizan_group_sync_seconds_count ", "mizan_queue_depth 0",
		`mizan_provider_call_seconds_count{operation="payment",outcome="charged",provider="simulator"} 1`, "mizan_ready 1", "mizan_log_segments 1", "mizan_notification_listeners 0", "mizan_notification_listeners_cut_off_total 0",
		`mizan_provider_circuits{provider="simulator",state="open"} 0`, `mizan_requests_refused_total{limiter="queue"} 0`, "mizan_start_seconds ",
		"mizan_syncs_total ", "mizan_actors_live ", "mizan_store_bytes ", "mizan_store_unverified_bytes 0", "go_goroutines ", "mizan_low_space 0",
	} {
		if !strings.Contains(content, "\n"+want) {
			t.Errorf("no %q in\n%s", want, content)
		}
	}
	if strings.Contains(content, "mizan_syncs_total 0") {
		t.Error("no sync was counted")
	}
	operations := testkit.ReadDoc(t, "operations.md")
	for _, name := range regexp.MustCompile(`(?m)^# HELP (mizan_\w+)`).FindAllStringSubmatch(content, -1) {
		if !strings.Contains(operations, "`"+name[1]+"`") {
			t.Errorf("docs/operations.md doesn't name %s", name[1])
		}
	}
}
