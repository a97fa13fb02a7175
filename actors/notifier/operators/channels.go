package operators

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/ledger/alerts"
	"mizan/ledger/directory"
)

// MaxSends is how many attempts are under way at once.
const MaxSends = 8

// DefaultTelegramURL is where the Bot API is.
const DefaultTelegramURL = "https://api.telegram.org"

// TLSMode is how e-mail is encrypted on its way to the SMTP server.
type TLSMode string

// The modes.
const (
	StartTLS TLSMode = "starttls" // asked for behind the greeting, and insisted on
	TLS      TLSMode = "tls"      // from the first byte
	Plain    TLSMode = "off"      // not at all: for a server on the same machine
)

// SMTP is the server that takes e-mail.
type SMTP struct {
	Host     string // empty: no e-mail is sent
	Port     int
	From     string      // address of the sender
	User     string      // empty: no credentials are given; with Plain there may be none
	Password secret.Text // of User
	TLS      TLSMode     // empty: StartTLS
}

// Options of Channels.
type Options struct {
	TelegramURL   string      // without a path's end; empty: DefaultTelegramURL
	TelegramToken secret.Text // of the bot; empty: nothing is told by Telegram
	SMTP          SMTP
	Clock         clock.Clock
	Log           *slog.Logger
	Roots         *x509.CertPool // who vouches for the servers' certificates; nil: the system's
}

// bounds are spans of real time. Only tests have others than these.
type bounds struct {
	connect time.Duration // name, TCP and TLS
	answer  time.Duration // an attempt in all
}

var standard = bounds{connect: 5 * time.Second, answer: 15 * time.Second}

// Attempt is what became of one attempt to tell contacts something.
type Attempt struct {
	At      time.Time     // of the clock, when it began
	Status  int           // code of the first answer that refused, of HTTP or SMTP; 0: there was none
	Failure string        // who was not told and why, in a few words; empty: nobody is left
	Took    time.Duration // real time
	Wait    time.Duration // the next attempt is not to be made earlier; 0: nobody has said so
	Left    Contacts      // who is to be told by another attempt, as the list stands
	Told    Contacts      // who was told, by this attempt and those before
}

// Channels send messages to operators. They may be used by any number of goroutines.
type Channels struct {
	clock    clock.Clock
	bounds   bounds
	telegram *telegram // nil: not configured
	post     *post     // nil: not configured
	places   chan struct{}
}

// New makes channels, which have to be closed. The error says what of the options
// cannot be used, without any secret.
func New(o Options) (*Channels, error) { return newChannels(o, standard) }

func newChannels(o Options, b bounds) (*Channels, error) {
	c := &Channels{clock: o.Clock, bounds: b, places: make(chan struct{}, MaxSends)}
	var err error
	if o.TelegramToken == "" {
		o.Log.Info("operators are told nothing by Telegram: no token is configured")
	} else if c.telegram, err = newTelegram(o.TelegramURL, string(o.TelegramToken), o.Roots, b); err != nil {
		return nil, err
	}
	if o.SMTP.Host == "" {
		o.Log.Info("operators are told nothing by e-mail: no SMTP server is configured")
	} else if c.post, err = newPost(o.SMTP, o.Roots, b); err != nil {
		return nil, err
	}
	return c, nil
}

// Close ends idle connections. Attempts that are under way end with their contexts.
func (c *Channels) Close() {
	if c.telegram != nil {
		c.telegram.close()
	}
}

// Reaches tells whether any of a terminal's operators can be told anything. It takes
// no lock and no memory.
func (c *Channels) Reaches(n *directory.Notification) bool {
	return c.telegram != nil && len(n.Telegram) > 0 || c.post != nil && len(n.Emails) > 0
}

// reached are those of the contacts who can be told by what is configured.
func (c *Channels) reached(of Contacts) (to Contacts) {
	if c.telegram != nil {
		to.Telegram = of.Telegram
	}
	if c.post != nil {
		to.Emails = of.Emails
	}
	return to
}

// Send makes one attempt to tell the message to everybody who is listed and can be
// reached, but for those whom attempts before have told. Where that is nobody, and
// nobody was ever told, it has failed. It first waits until fewer than MaxSends are
// under way; from then on it returns within 15 s.
func (c *Channels) Send(ctx context.Context, listed, told Contacts, m alerts.Message) Attempt {
	to := c.reached(listed).Without(told)
	if to.None() {
		a := Attempt{At: c.clock.Now(), Told: told}
		if told.None() {
			a.Failure = nobody
		}
		return a
	}
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	case <-ctx.Done():
		return Attempt{At: c.clock.Now(), Failure: interrupted, Left: to, Told: told}
	}
	at, began := c.clock.Now(), time.Now()
	until := began.Add(c.bounds.answer)
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var chats, mails outcome
	var both sync.WaitGroup
	if len(to.Telegram) > 0 {
		both.Go(func() { chats = c.telegram.tell(ctx, to.Telegram, m) })
	}
	if len(to.Emails) > 0 {
		both.Go(func() { mails = c.post.tell(ctx, to.Emails, m, at) })
	}
	both.Wait()
	left := Contacts{Telegram: chats.left, Emails: mails.left}
	return Attempt{
		At: at, Took: time.Since(began), Left: left, Told: told.with(to.Without(left)),
		Status: max(chats.status, mails.status), Wait: chats.wait,
		Failure: joined(chats.said("telegram", len(to.Telegram)), mails.said("e-mail", len(to.Emails))),
	}
}

// outcome is what became of one way's part of an attempt.
type outcome struct {
	left   []string
	status int
	why    string // of the first that is left
	wait   time.Duration
}

// miss notes that a contact was not told.
func (o *outcome) miss(contact string, f failure) {
	if len(o.left) == 0 {
		o.status, o.why = f.status, f.why
	}
	o.left = append(o.left, contact)
	o.wait = max(o.wait, f.wait)
}

// said is the outcome in a few words; empty: nobody is left.
func (o *outcome) said(way string, all int) string {
	switch {
	case len(o.left) == 0:
		return ""
	case all == 1:
		return way + ": " + o.why
	}
	return way + ": " + strconv.Itoa(len(o.left)) + " of " + strconv.Itoa(all) + " not told: " + o.why
}

func joined(texts ...string) string {
	var said []string
	for _, text := range texts {
		if text != "" {
			said = append(said, text)
		}
	}
	return strings.Join(said, "; ")
}

// failure is why one contact was not told.
type failure struct {
	status int
	why    string
	wait   time.Duration
}

// Why a contact was not told, for people.
const (
	interrupted  = "interrupted: the service is stopping"
	nobody       = "nobody is there to be told" // an attempt as a whole
	noConnection = "no connection in time"
	noAnswer     = "no answer in time"
	notFound     = "no such host"
	notConnected = "not connected"
	broken       = "connection broken"
	notTrusted   = "TLS: certificate not accepted"
	tlsFailed    = "TLS: handshake failed"
)

// errConnect marks errors of opening a connection.
type errConnect struct{ error }

// Unwrap is the error of the connection.
func (e errConnect) Unwrap() error { return e.error }

// broke says what an error of a connection means; what is none says interrupted or
// broken.
func broke(ctx context.Context, err error) failure {
	var opening errConnect
	var resolving *net.DNSError
	switch connecting := errors.As(err, &opening); {
	case errors.Is(context.Cause(ctx), context.Canceled):
		return failure{why: interrupted}
	case timedOut(err) && connecting:
		return failure{why: noConnection}
	case timedOut(err):
		return failure{why: noAnswer}
	case errors.As(err, &resolving):
		return failure{why: notFound}
	case untrusted(err):
		return failure{why: notTrusted}
	case handshake(err):
		return failure{why: tlsFailed}
	case connecting:
		return failure{why: notConnected}
	}
	return failure{why: broken}
}
