package operators

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"mizan/ledger/alerts"
)

// Bounds of one attempt by Telegram.
const (
	maxChats       = 4         // told at once
	maxWait        = time.Hour // whatever the Bot API wants us to wait
	maxDescription = 100       // characters that are kept of what it says
)

// Why a chat was not told, beside what a connection's failure means.
const (
	notBotAPI = "the answer is not the Bot API's"
	badToken  = "the bot's token is not accepted"
)

// telegram tells chats by the Bot API.
type telegram struct {
	bot   *bot.Bot
	token string
	lines *http.Transport
}

func newTelegram(url, token string, roots *x509.CertPool, b bounds) (*telegram, error) {
	if url == "" {
		url = DefaultTelegramURL
	}
	t := &telegram{token: token}
	t.lines = &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return dial(ctx, address, way{bound: b.connect})
		},
		DialTLSContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return dial(ctx, address, way{bound: b.connect, secure: &tls.Config{
				ServerName: host, RootCAs: roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
			}})
		},
		MaxIdleConns: maxChats, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: maxAnswer,
	}
	var err error
	t.bot, err = bot.New(token, bot.WithSkipGetMe(), bot.WithServerURL(strings.TrimRight(url, "/")), bot.WithHTTPClient(0, t),
		bot.WithErrorsHandler(func(error) {}), bot.WithDebugHandler(func(string, ...any) {}), bot.WithUpdatesChannelCap(0))
	if err != nil {
		return nil, errors.New("the Telegram bot's token cannot be used")
	}
	return t, nil
}

func (t *telegram) close() { t.lines.CloseIdleConnections() }

// tell tells the chats, some at once.
func (t *telegram) tell(ctx context.Context, chats []string, m alerts.Message) outcome {
	missed := make([]*failure, len(chats))
	var all sync.WaitGroup
	places := make(chan struct{}, maxChats)
	for i, chat := range chats {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			missed[i] = t.send(ctx, chat, m)
		})
	}
	all.Wait()
	var o outcome
	for i, f := range missed {
		if f != nil {
			o.miss(chats[i], *f)
		}
	}
	return o
}

// send tells one chat; nil: it is told.
func (t *telegram) send(ctx context.Context, chat string, m alerts.Message) *failure {
	heard := new(hearing)
	off := true
	_, err := t.bot.SendMessage(context.WithValue(ctx, hearingKey{}, heard), &bot.SendMessageParams{
		ChatID: chat, Text: m.Subject + "\n\n" + m.Text, LinkPreviewOptions: &models.LinkPreviewOptions{IsDisabled: &off},
	})
	if heard.OK {
		return nil // the message is there, also where what is said of it is not understood
	}
	f := t.refused(ctx, heard, err)
	return &f
}

// refused says why a chat was not told.
func (t *telegram) refused(ctx context.Context, heard *hearing, err error) failure {
	var busy *bot.TooManyRequestsError
	switch {
	case heard.status == 0:
		return broke(ctx, err)
	case !heard.understood && timedOut(err):
		return failure{why: noAnswer}
	case !heard.understood:
		return failure{status: heard.status, why: notBotAPI + ": status " + strconv.Itoa(heard.status)}
	case errors.As(err, &busy):
		seconds := time.Duration(min(max(busy.RetryAfter, 0), int(maxWait/time.Second)))
		return failure{status: heard.Code, wait: seconds * time.Second, why: fmt.Sprintf("too many messages, again after %d s", seconds)}
	case errors.Is(err, bot.ErrorUnauthorized), errors.Is(err, bot.ErrorNotFound):
		return failure{status: heard.Code, why: badToken} // an unknown path is a token in a wrong form
	}
	return failure{status: heard.Code, why: t.plain(heard.Description, heard.Code)}
}

// plain is what the Bot API says of a failure, cut.
func (t *telegram) plain(said string, code int) string {
	said = strings.ReplaceAll(said, t.token, "")
	said = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, said)
	if long := []rune(said); len(long) > maxDescription {
		said = string(long[:maxDescription])
	}
	if said = strings.TrimSpace(said); said == "" {
		return "error " + strconv.Itoa(code)
	}
	return said
}

// hearing is what came back of one call: the library's errors do not tell all of it.
type hearing struct {
	status     int  // of HTTP; 0: no answer came
	understood bool // it was the Bot API's

	OK          bool   `json:"ok"`
	Code        int    `json:"error_code"`
	Description string `json:"description"`
}

type hearingKey struct{}

// Do implements bot.HttpClient: one exchange without redirects, of which the answer is
// read up to its bound.
func (t *telegram) Do(r *http.Request) (*http.Response, error) {
	answer, err := t.lines.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	_ = answer.Body.Close() // what is behind the bound is nobody's concern
	if heard, ok := r.Context().Value(hearingKey{}).(*hearing); ok {
		heard.status = answer.StatusCode
		parsed := err == nil && json.Unmarshal(body, heard) == nil
		heard.OK = parsed && heard.OK && answer.StatusCode == http.StatusOK // nothing else is the Bot API's success
		heard.understood = parsed && (heard.OK || heard.Code != 0)
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, err
}
