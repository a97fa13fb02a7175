package operators

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"mizan/ledger/alerts"
)

// Bounds of one attempt by Telegram.
const (
	maxChats       = 4         // chats in parallel
	maxWait        = time.Hour // upper bound for the wait that the Bot API asks for
	maxDescription = 100       // longest description of the Bot API that a failure contains, in characters
)

// Further reasons why a chat was not reached; channels.go has the reasons that all channels share.
const (
	notBotAPI = "the answer is not the Bot API's"
	badToken  = "the bot's token is not accepted"
)

// noPreview is the Bot API's LinkPreviewOptions for a message without link previews.
const noPreview = `{"is_disabled":true}`

// telegram sends messages to chats with the Bot API's method sendMessage
// (core.telegram.org/bots/api).
type telegram struct {
	sendURL   string // the address of sendMessage, which contains the token
	token     string
	transport *http.Transport
}

func newTelegram(base, token string, roots *x509.CertPool, b bounds) (*telegram, error) {
	if base == "" {
		base = DefaultTelegramURL
	}
	t := &telegram{sendURL: strings.TrimRight(base, "/") + "/bot" + token + "/sendMessage", token: token}
	if _, err := http.NewRequest(http.MethodPost, t.sendURL, nil); err != nil || strings.TrimSpace(token) == "" {
		return nil, errors.New("the Telegram bot's token cannot be used") // the parse error would quote the token
	}
	t.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return dial(ctx, address, dialOptions{timeout: b.connect})
		},
		DialTLSContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return dial(ctx, address, dialOptions{timeout: b.connect, tlsConfig: &tls.Config{
				ServerName: host, RootCAs: roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
			}})
		},
		MaxIdleConns: maxChats, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: maxAnswer,
	}
	return t, nil
}

func (t *telegram) close() { t.transport.CloseIdleConnections() }

// sendAll sends the message to the chats, up to maxChats in parallel.
func (t *telegram) sendAll(ctx context.Context, chats []string, m alerts.Message) outcome {
	failures := make([]*failure, len(chats))
	var sending sync.WaitGroup
	slots := make(chan struct{}, maxChats)
	for i, chat := range chats {
		slots <- struct{}{}
		sending.Go(func() {
			defer func() { <-slots }()
			failures[i] = t.send(ctx, chat, m)
		})
	}
	sending.Wait()
	var o outcome
	for i, f := range failures {
		if f != nil {
			o.addFailure(chats[i], *f)
		}
	}
	return o
}

// send sends the message to one chat. If the Bot API has accepted the message, send returns nil.
func (t *telegram) send(ctx context.Context, chat string, m alerts.Message) *failure {
	form := url.Values{"chat_id": {chat}, "text": {m.Subject + "\n\n" + m.Text}, "link_preview_options": {noPreview}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.sendURL, strings.NewReader(form.Encode()))
	if err != nil {
		return &failure{reason: badToken} // the parse error would quote the token
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := t.transport.RoundTrip(request) // RoundTrip follows no redirect
	if err != nil {
		f := connectionFailure(ctx, err)
		return &f
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	_ = response.Body.Close() // what follows after maxAnswer bytes is not needed
	if err != nil && timedOut(err) {
		return &failure{reason: attemptTimedOut}
	}
	var a botAnswer
	switch parsed := err == nil && json.Unmarshal(body, &a) == nil; {
	case parsed && a.OK && response.StatusCode == http.StatusOK:
		return nil // the result in the body is not needed
	case !parsed || a.Code == 0:
		return &failure{status: response.StatusCode, reason: notBotAPI + ": status " + strconv.Itoa(response.StatusCode)}
	}
	f := t.refusal(&a)
	return &f
}

// refusal returns the reason why the Bot API has not accepted a message.
func (t *telegram) refusal(a *botAnswer) failure {
	switch a.Code {
	case http.StatusTooManyRequests:
		seconds := time.Duration(min(max(a.Parameters.RetryAfter, 0), int(maxWait/time.Second)))
		return failure{status: a.Code, wait: seconds * time.Second, reason: fmt.Sprintf("too many messages, again after %d s", seconds)}
	case http.StatusUnauthorized, http.StatusNotFound:
		return failure{status: a.Code, reason: badToken} // if the token is malformed, the Bot API reports an unknown path
	}
	return failure{status: a.Code, reason: t.description(a.Description, a.Code)}
}

// description returns the Bot API's description of a failure, shortened and
// without the token and unprintable characters.
func (t *telegram) description(reason string, code int) string {
	reason = strings.ReplaceAll(reason, t.token, "")
	reason = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, reason)
	if runes := []rune(reason); len(runes) > maxDescription {
		reason = string(runes[:maxDescription])
	}
	if reason = strings.TrimSpace(reason); reason == "" {
		return "error " + strconv.Itoa(code)
	}
	return reason
}

// botAnswer is the Bot API's response without the field result, which is not needed.
type botAnswer struct {
	OK          bool   `json:"ok"`
	Code        int    `json:"error_code"`
	Description string `json:"description"`
	Parameters  struct {
		RetryAfter int `json:"retry_after"`
	} `json:"parameters"`
}
