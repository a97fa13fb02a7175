package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const (
	sandboxFile   = "sandbox.json"
	clientTimeout = 30 * time.Second
)

// Sandbox is the content of sandbox.json, which `serve --sandbox` writes to the data directory: the server's address and
// credentials.
type Sandbox struct {
	BaseURL        string `json:"base_url"`
	CAFile         string `json:"ca_file"` // empty without TLS
	AdminToken     string `json:"admin_token"`
	OrganizationID string `json:"organization_id"`
	PartnerID      int64  `json:"partner_id"`
	APIKey         string `json:"api_key"`
	AuditorToken   string `json:"auditor_token"`
	SessionToken   string `json:"session_token"` // session of a user with the role admin in the organization

	PartnerLogin string `json:"partner_login"`
	PartnerPass  string `json:"partner_pass"`
	AdminLogin   string `json:"admin_login"`
	AdminPass    string `json:"admin_pass"`
	AuditorLogin string `json:"auditor_login"`
	AuditorPass  string `json:"auditor_pass"`
	ClientLogin  string `json:"client_login"`
	ClientPass   string `json:"client_pass"`
}

// ReadSandbox reads the sandbox.json in a data directory.
func ReadSandbox(dir string) (Sandbox, error) {
	var s Sandbox
	content, err := os.ReadFile(filepath.Join(dir, sandboxFile))
	if err == nil {
		err = json.Unmarshal(content, &s)
	}
	if err == nil && (s.BaseURL == "" || s.OrganizationID == "" || s.PartnerID == 0 || s.APIKey == "" || s.AuditorToken == "") {
		err = fmt.Errorf("%s lacks a value", filepath.Join(dir, sandboxFile))
	}
	if err != nil {
		return Sandbox{}, fmt.Errorf("server: %w", err)
	}
	return s, nil
}

// TLS returns a configuration that trusts the server's own certificate authority, or nil if the server runs without TLS.
func (s *Sandbox) TLS() (*tls.Config, error) {
	if s.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(s.CAFile)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("server: %s holds no certificate", s.CAFile)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}

// Client returns an HTTP client that trusts the server, uses no proxy and keeps its connections. The caller must
// close the client's idle connections.
func (s *Sandbox) Client() (*http.Client, error) {
	config, err := s.TLS()
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Timeout:   clientTimeout,
		Transport: &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 1024},
	}, nil
}

// isReady returns whether the server reports that it is ready. If no response arrives, it returns false.
func isReady(ctx context.Context, client *http.Client, baseURL string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/api/v1/health", nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	var health struct {
		CoreStatus string `json:"core_status"`
	}
	return json.NewDecoder(response.Body).Decode(&health) == nil && health.CoreStatus == "ok"
}
