package maintenance

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/config"
	"mizan/internal/secret"
)

// Bounds of the request to a running server.
const (
	rotateBound   = 30 * time.Second
	maxRotateBody = 64 << 10
	maxCAFile     = 1 << 20
)

// online asks a running server to rotate the token that the request presents. It sends the
// request only once, because a second one could arrive after its token is retired.
func (c *rotateTokenCommand) online(*cli.Streams) (secret.Text, error) {
	token, err := c.token()
	if err != nil {
		return "", err
	}
	request, client, err := c.request()
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	request.Header.Set("Idempotency-Key", uuid.NewString())
	response, err := client.Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		if wasNotSent(err) {
			return "", notSentFault(err)
		}
		return "", unknownOutcomeFault(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRotateBody))
	if err != nil {
		return "", unknownOutcomeFault(err)
	}
	return parseRotation(response.StatusCode, body)
}

// request makes the request without its credentials, and the HTTP client for it.
func (c *rotateTokenCommand) request() (*http.Request, *http.Client, error) {
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" || base.User != nil || base.Scheme != "https" && (base.Scheme != "http" || !config.Loopback(hostPort(base))) {
		return nil, nil, cli.BadConfiguration("url: has to be https://HOST, or http:// on this machine")
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		content, err := cli.ReadFile(c.CAFile, maxCAFile)
		if err != nil {
			return nil, nil, cli.BadConfiguration("ca-file: " + err.Error())
		}
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(content) {
			return nil, nil, cli.BadConfiguration("ca-file: " + c.CAFile + " holds no certificate")
		}
	}
	request, err := http.NewRequest(http.MethodPost, base.JoinPath("/api/v1/admin_tokens/rotate").String(), nil)
	if err != nil {
		return nil, nil, cli.BadConfiguration("url: is not an address")
	}
	return request, &http.Client{
		Timeout:   rotateBound,
		Transport: &http.Transport{TLSClientConfig: trust, Proxy: http.ProxyFromEnvironment},
		// The token is sent only to the server that the flag names, not to the target of a
		// redirect.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func hostPort(u *url.URL) string {
	if u.Port() == "" {
		return u.Host + ":80"
	}
	return u.Host
}

// wasNotSent tells whether the request was certainly not sent: no connection was established, or the
// server's certificate was not accepted.
func wasNotSent(err error) bool {
	var distrust *tls.CertificateVerificationError
	var connecting *net.OpError
	return errors.As(err, &distrust) || errors.As(err, &connecting) && connecting.Op == "dial"
}

func notSentFault(err error) error {
	return &cli.Fault{Code: cli.ExitStorage, Lines: []string{
		"mizan: admin-token: no answer: " + cli.OneLine(err.Error()),
		"mizan: admin-token: nothing was sent: the token is as it was",
	}}
}

// unknownOutcomeFault reports a request whose outcome is unknown.
func unknownOutcomeFault(err error) error {
	return &cli.Fault{Code: cli.ExitStorage, Lines: []string{
		"mizan: admin-token: no answer: " + cli.OneLine(err.Error()),
		"mizan: admin-token: if the token is refused from now on, it was rotated: stop the server and rotate with --data",
	}}
}

// parseRotation reads the server's response. If the rotation failed, the error has only the message of the
// server's error.
func parseRotation(status int, body []byte) (secret.Text, error) {
	var answer struct {
		Data    struct{ Token string }
		Error   string
		Message string
	}
	readable := json.Unmarshal(body, &answer) == nil
	switch {
	case status == http.StatusCreated && readable && answer.Data.Token != "":
		return secret.Text(answer.Data.Token), nil
	case status == http.StatusCreated:
		return "", unknownOutcomeFault(errors.New("it can't be read"))
	}
	line := fmt.Sprintf("mizan: admin-token: the server answered %d", status)
	if answer.Error != "" {
		line += " " + cli.OneLine(answer.Error)
	}
	if answer.Message != "" {
		line += ": " + cli.OneLine(answer.Message)
	}
	code := cli.ExitConfiguration
	if status >= http.StatusInternalServerError {
		code = cli.ExitStorage
	}
	return "", &cli.Fault{Code: code, Lines: []string{line}}
}
