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

// Bounds for the request to a running server, for the response, and for the file with certificates.
const (
	rotateTimeout  = 30 * time.Second
	maxRotateReply = 64 << 10
	maxCAFile      = 1 << 20
)

// rotateOnline asks a running server to replace the token that authenticates the request. It sends the request only once: if
// the first request has retired the token, a second one would be refused.
func (c *rotateTokenCommand) rotateOnline(*cli.Streams) (secret.Text, error) {
	token, err := c.readToken()
	if err != nil {
		return "", err
	}
	request, client, err := c.newRequest()
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	request.Header.Set("Idempotency-Key", uuid.NewString())
	response, err := client.Do(request)
	if err != nil {
		var urlError *url.Error
		if errors.As(err, &urlError) {
			err = urlError.Err
		}
		if wasNotSent(err) {
			return "", notSentFault(err)
		}
		return "", unknownOutcomeFault(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRotateReply))
	if err != nil {
		return "", unknownOutcomeFault(err)
	}
	return parseRotation(response.StatusCode, body)
}

// newRequest returns the request, still without the token, and an HTTP client that sends the request.
func (c *rotateTokenCommand) newRequest() (*http.Request, *http.Client, error) {
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" || base.User != nil || base.Scheme != "https" && (base.Scheme != "http" || !config.IsLoopback(hostWithPort(base))) {
		return nil, nil, cli.BadConfiguration("url: has to be https://HOST, or http:// on this machine")
	}
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		content, err := cli.ReadFile(c.CAFile, maxCAFile)
		if err != nil {
			return nil, nil, cli.BadConfiguration("ca-file: " + err.Error())
		}
		tlsConfig.RootCAs = x509.NewCertPool()
		if !tlsConfig.RootCAs.AppendCertsFromPEM(content) {
			return nil, nil, cli.BadConfiguration("ca-file: " + c.CAFile + " holds no certificate")
		}
	}
	request, err := http.NewRequest(http.MethodPost, base.JoinPath("/api/v1/admin_tokens/rotate").String(), nil)
	if err != nil {
		return nil, nil, cli.BadConfiguration("url: is not an address")
	}
	return request, &http.Client{
		Timeout:   rotateTimeout,
		Transport: &http.Transport{TLSClientConfig: tlsConfig, Proxy: http.ProxyFromEnvironment},
		// The token is sent only to the server that the flag names, not to the target of a
		// redirect.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func hostWithPort(u *url.URL) string {
	if u.Port() == "" {
		return u.Host + ":80"
	}
	return u.Host
}

// wasNotSent tells whether err proves that the request was not sent: no connection was established, or the server's certificate
// was not accepted.
func wasNotSent(err error) bool {
	var certificateError *tls.CertificateVerificationError
	var connectionError *net.OpError
	return errors.As(err, &certificateError) || errors.As(err, &connectionError) && connectionError.Op == "dial"
}

func notSentFault(err error) error {
	return &cli.Fault{Code: cli.ExitStorage, Lines: []string{
		"mizan: admin-token: no answer: " + cli.OneLine(err.Error()),
		"mizan: admin-token: nothing was sent: the token is as it was",
	}}
}

// unknownOutcomeFault returns the fault to report if the client can't know whether the server has rotated the token.
func unknownOutcomeFault(err error) error {
	return &cli.Fault{Code: cli.ExitStorage, Lines: []string{
		"mizan: admin-token: no answer: " + cli.OneLine(err.Error()),
		"mizan: admin-token: if the token is refused from now on, it was rotated: stop the server and rotate with --data",
	}}
}

// parseRotation returns the new token in the server's response. If the rotation failed, the error contains only the server's
// error code and message.
func parseRotation(status int, body []byte) (secret.Text, error) {
	var answer struct {
		Data    struct{ Token string }
		Error   string
		Message string
	}
	isReadable := json.Unmarshal(body, &answer) == nil
	switch {
	case status == http.StatusCreated && isReadable && answer.Data.Token != "":
		return secret.Text(answer.Data.Token), nil
	case status == http.StatusCreated:
		return "", unknownOutcomeFault(errors.New("the response can't be read"))
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
