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

// MaxSends bounds the attempts in progress at once.
const MaxSends = 8

// DefaultTelegramURL is the address of Telegram's Bot API.
const DefaultTelegramURL = "https://api.telegram.org"

// TLSMode is how the connection to the SMTP server is encrypted.
type TLSMode string

// The modes.
const (
	StartTLS TLSMode = "starttls" // requested after the greeting, and required
	TLS      TLSMode = "tls"      // from the first byte
	Plain    TLSMode = "off"      // not at all: for a server on the same machine
)

// SMTP is the server that e-mail is sent through.
type SMTP struct {
	Host     string // empty: no e-mail is sent
	Port     int
	From     string      // the sender's address
	User     string      // empty: no credentials are sent; must be empty with Plain
	Password secret.Text // of User
	TLS      TLSMode     // empty: StartTLS
}

// Options configure Channels.
type Options struct {
	TelegramURL   string      // without a trailing slash; empty: DefaultTelegramURL
	TelegramToken secret.Text // of the bot; empty: nothing is sent by Telegram
	SMTP          SMTP
	Clock         clock.Clock
	Log           *slog.Logger
	Roots         *x509.CertPool // trusted certificate authorities of the servers; nil: the system's
}

// bounds are durations in real time. Only tests change them.
type bounds struct {
	connect time.Duration // name, TCP and TLS
	answer  time.Duration // a whole attempt
}

var standard = bounds{connect: 5 * time.Second, answer: 15 * time.Second}

// Attempt is the result of one attempt to send contacts a message.
type Attempt struct {
	At      time.Time     // by the clock, when it began
	Status  int           // HTTP or SMTP code of the first refusal; 0: there was none
	Failure string        // which contacts were not reached and why, in a few words; empty: all were reached
	Took    time.Duration // real time
	Wait    time.Duration // least time before the next attempt; 0: no server has asked for one
	Left    Contacts      // contacts that the next attempt must reach
	Reached Contacts      // contacts that were reached, by this attempt and those before
}

// Channels send messages to operators. They are safe for concurrent use.
type Channels struct {
	clock    clock.Clock
	bounds   bounds
	telegram *telegram // nil: not configured
	post     *post     // nil: not configured
	places   chan struct{}
}

// New makes Channels. The caller must close them. The error says which option cannot be used,
// without any secret.
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

// Close closes idle connections. Attempts in progress end with their contexts.
func (c *Channels) Close() {
	if c.telegram != nil {
		c.telegram.close()
	}
}

// Reaches tells whether the configured channels can reach any of a terminal's operators. It takes
// no lock and allocates no memory.
func (c *Channels) Reaches(n *directory.Notification) bool {
	return c.telegram != nil && len(n.Telegram) > 0 || c.post != nil && len(n.Emails) > 0
}

// reachable returns the contacts that the configured channels can reach.
func (c *Channels) reachable(contacts Contacts) (to Contacts) {
	if c.telegram != nil {
		to.Telegram = contacts.Telegram
	}
	if c.post != nil {
		to.Emails = contacts.Emails
	}
	return to
}

// Send makes one attempt to send the message to all listed contacts that can be reached, except those
// that were reached by earlier attempts. If no such contact exists and none was ever reached, the
// attempt has failed. Send first waits until fewer than MaxSends attempts are in progress; from then on
// it returns within 15 s.
func (c *Channels) Send(ctx context.Context, listed, reached Contacts, m alerts.Message) Attempt {
	to := c.reachable(listed).Without(reached)
	if to.None() {
		a := Attempt{At: c.clock.Now(), Reached: reached}
		if reached.None() {
			a.Failure = nobodyReachable
		}
		return a
	}
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	case <-ctx.Done():
		return Attempt{At: c.clock.Now(), Failure: interrupted, Left: to, Reached: reached}
	}
	at, started := c.clock.Now(), time.Now()
	until := started.Add(c.bounds.answer)
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var chats, mails outcome
	var sending sync.WaitGroup
	if len(to.Telegram) > 0 {
		sending.Go(func() { chats = c.telegram.sendAll(ctx, to.Telegram, m) })
	}
	if len(to.Emails) > 0 {
		sending.Go(func() { mails = c.post.send(ctx, to.Emails, m, at) })
	}
	sending.Wait()
	left := Contacts{Telegram: chats.unreached, Emails: mails.unreached}
	return Attempt{
		At: at, Took: time.Since(started), Left: left, Reached: reached.union(to.Without(left)),
		Status: max(chats.status, mails.status), Wait: chats.wait,
		Failure: joined(chats.summary("telegram", len(to.Telegram)), mails.summary("e-mail", len(to.Emails))),
	}
}

// outcome is the result of one channel's part of an attempt.
type outcome struct {
	unreached []string
	status    int
	why       string // why the first of the unreached contacts was not reached
	wait      time.Duration
}

// addFailure records that a contact was not reached.
func (o *outcome) addFailure(contact string, f failure) {
	if len(o.unreached) == 0 {
		o.status, o.why = f.status, f.why
	}
	o.unreached = append(o.unreached, contact)
	o.wait = max(o.wait, f.wait)
}

// summary returns the result in a few words; empty if all were reached.
func (o *outcome) summary(channel string, all int) string {
	switch {
	case len(o.unreached) == 0:
		return ""
	case all == 1:
		return channel + ": " + o.why
	}
	return channel + ": " + strconv.Itoa(len(o.unreached)) + " of " + strconv.Itoa(all) + " not told: " + o.why
}

func joined(texts ...string) string {
	var parts []string
	for _, text := range texts {
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}

// failure is why one contact was not reached.
type failure struct {
	status int
	why    string
	wait   time.Duration
}

// Why a contact was not reached, for people.
const (
	interrupted     = "interrupted: the service is stopping"
	nobodyReachable = "nobody is there to be told" // the reason for an attempt as a whole
	noConnection    = "no connection in time"
	noAnswer        = "no answer in time"
	notFound        = "no such host"
	notConnected    = "not connected"
	broken          = "connection broken"
	notTrusted      = "TLS: certificate not accepted"
	tlsFailed       = "TLS: handshake failed"
)

// errConnect marks errors of opening a connection.
type errConnect struct{ error }

// Unwrap returns the connection's error.
func (e errConnect) Unwrap() error { return e.error }

// connectionFailure returns the failure that a connection's error means; broken for an error that it
// does not know.
func connectionFailure(ctx context.Context, err error) failure {
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
	case certificateRejected(err):
		return failure{why: notTrusted}
	case handshakeFailed(err):
		return failure{why: tlsFailed}
	case connecting:
		return failure{why: notConnected}
	}
	return failure{why: broken}
}
