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

// Bounds of the attempts that are in progress at once.
const (
	MaxSends = 8 // attempts to reach recipients
	MaxMails = 8 // attempts to mail payers; bounded separately, so that many receipts do not delay alerts
)

// DefaultTelegramURL is the address of Telegram's Bot API.
const DefaultTelegramURL = "https://api.telegram.org"

// TLSMode is how the connection to the SMTP server is encrypted.
type TLSMode string

// The modes.
const (
	StartTLS TLSMode = "starttls" // encrypted by STARTTLS after the greeting; nothing is sent if the server does not offer it
	TLS      TLSMode = "tls"      // encrypted from the first byte
	Plain    TLSMode = "off"      // not encrypted: for a server on the same machine
)

// SMTP is the server that e-mail is sent through.
type SMTP struct {
	Host     string // empty: no e-mail is sent
	Port     int
	From     string      // the sender's address
	User     string      // empty: no credentials are sent; must be empty with Plain
	Password secret.Text // password of User
	TLS      TLSMode     // empty: StartTLS
}

// Options configure Channels.
type Options struct {
	TelegramURL   string      // without a trailing slash; empty: DefaultTelegramURL
	TelegramToken secret.Text // token of the bot; empty: nothing is sent by Telegram
	SMTP          SMTP
	Clock         clock.Clock
	Log           *slog.Logger
	Roots         *x509.CertPool // trusted certificate authorities; nil: the system's
}

// bounds are durations in real time. Only tests change them.
type bounds struct {
	connect time.Duration // name look-up, TCP and TLS together
	attempt time.Duration // a whole attempt
}

var standardBounds = bounds{connect: 5 * time.Second, attempt: 15 * time.Second}

// Attempt is the result of one attempt to send a message to contacts.
type Attempt struct {
	At        time.Time     // when the attempt began, by Options.Clock
	Status    int           // HTTP or SMTP code of a refusal; 0 if there was none
	Failure   string        // which contacts were not reached and why, in a few words; empty: all were reached
	Duration  time.Duration // duration in real time
	MinWait   time.Duration // minimum time until the next attempt; 0 if no server has asked for a wait
	Unreached Contacts      // contacts that the next attempt must reach
	Reached   Contacts      // contacts that this attempt or an earlier one reached
}

// Channels send messages to a terminal's recipients. They are safe for concurrent use.
type Channels struct {
	clock    clock.Clock
	bounds   bounds
	telegram *telegram     // nil: not configured
	mailer   *mailer       // nil: not configured
	slots    chan struct{} // one element per attempt of Send in progress
	mails    chan struct{} // one element per attempt of Mail in progress
}

// New makes Channels. The caller must close them. If an option cannot be used, the error says which; it
// contains no secret.
func New(o Options) (*Channels, error) { return newChannels(o, standardBounds) }

func newChannels(o Options, b bounds) (*Channels, error) {
	c := &Channels{clock: o.Clock, bounds: b, slots: make(chan struct{}, MaxSends), mails: make(chan struct{}, MaxMails)}
	var err error
	if o.TelegramToken == "" {
		o.Log.Info("operators are not notified by Telegram: no token is configured")
	} else if c.telegram, err = newTelegram(o.TelegramURL, string(o.TelegramToken), o.Roots, b); err != nil {
		return nil, err
	}
	if o.SMTP.Host == "" {
		o.Log.Info("operators are not notified by e-mail, and payers get no receipts: no SMTP server is configured")
	} else if c.mailer, err = newMailer(o.SMTP, o.Roots, b); err != nil {
		return nil, err
	}
	return c, nil
}

// Close closes idle connections. It does not end attempts in progress; each of them ends when its context does.
func (c *Channels) Close() {
	if c.telegram != nil {
		c.telegram.close()
	}
}

// Reaches reports whether the configured channels can reach any of a terminal's recipients. It takes no lock
// and allocates no memory.
func (c *Channels) Reaches(n *directory.Notification) bool {
	return c.telegram != nil && len(n.Telegram) > 0 || c.mailer != nil && len(n.Emails) > 0
}

// reachable returns the contacts that the configured channels can reach.
func (c *Channels) reachable(contacts Contacts) (recipients Contacts) {
	if c.telegram != nil {
		recipients.Telegram = contacts.Telegram
	}
	if c.mailer != nil {
		recipients.Emails = contacts.Emails
	}
	return recipients
}

// Send makes one attempt to send the message to all listed contacts that the configured channels can reach, except
// those that earlier attempts have reached. If there is no such contact, and earlier attempts have reached nobody
// either, the attempt fails. Send first waits until fewer than MaxSends attempts are in progress; from then on it
// returns within 15 s.
func (c *Channels) Send(ctx context.Context, listed, reached Contacts, m alerts.Message) Attempt {
	recipients := c.reachable(listed).Without(reached)
	if recipients.IsEmpty() {
		a := Attempt{At: c.clock.Now(), Reached: reached}
		if reached.IsEmpty() {
			a.Failure = nobodyReachable
		}
		return a
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return Attempt{At: c.clock.Now(), Failure: interrupted, Unreached: recipients, Reached: reached}
	}
	at, start := c.clock.Now(), time.Now()
	deadline := start.Add(c.bounds.attempt)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	var chats, mails outcome
	var sending sync.WaitGroup
	if len(recipients.Telegram) > 0 {
		sending.Go(func() { chats = c.telegram.sendAll(ctx, recipients.Telegram, m) })
	}
	if len(recipients.Emails) > 0 {
		sending.Go(func() { mails = c.mailer.send(ctx, recipients.Emails, Email{m.Subject, m.Text}, at) })
	}
	sending.Wait()
	unreached := Contacts{Telegram: chats.unreached, Emails: mails.unreached}
	return Attempt{
		At: at, Duration: time.Since(start), Unreached: unreached, Reached: reached.union(recipients.Without(unreached)),
		Status: max(chats.status, mails.status), MinWait: chats.wait,
		Failure: joinNonEmpty(chats.summary("telegram", len(recipients.Telegram)), mails.summary("e-mail", len(recipients.Emails))),
	}
}

// outcome is the result of an attempt on one channel.
type outcome struct {
	unreached []string
	status    int           // HTTP or SMTP code of the first refusal; 0 if none
	reason    string        // why unreached[0] was not reached
	wait      time.Duration // longest wait that the server asked for
}

// addFailure records that a contact was not reached.
func (o *outcome) addFailure(contact string, f failure) {
	if len(o.unreached) == 0 {
		o.status, o.reason = f.status, f.reason
	}
	o.unreached = append(o.unreached, contact)
	o.wait = max(o.wait, f.wait)
}

// summary returns the result in a few words. If all contacts were reached, the text is empty.
func (o *outcome) summary(channel string, contactCount int) string {
	switch {
	case len(o.unreached) == 0:
		return ""
	case contactCount == 1:
		return channel + ": " + o.reason
	}
	return channel + ": " + strconv.Itoa(len(o.unreached)) + " of " + strconv.Itoa(contactCount) + " not told: " + o.reason
}

// joinNonEmpty joins the texts that are not empty.
func joinNonEmpty(texts ...string) string {
	var nonEmpty []string
	for _, text := range texts {
		if text != "" {
			nonEmpty = append(nonEmpty, text)
		}
	}
	return strings.Join(nonEmpty, "; ")
}

// failure is the reason why a contact was not reached.
type failure struct {
	status int // HTTP or SMTP code; 0: none
	reason string
	wait   time.Duration // how long the server asks to wait; 0 if it does not ask
}

// Reasons why a contact was not reached, in words for people.
const (
	interrupted          = "interrupted: the service is stopping"
	nobodyReachable      = "nobody is there to be told" // why a whole attempt failed
	connectTimedOut      = "no connection in time"
	attemptTimedOut      = "no answer in time"
	unknownHost          = "no such host"
	notConnected         = "not connected"
	connectionBroken     = "connection broken"
	untrustedCertificate = "TLS: certificate not accepted"
	tlsFailed            = "TLS: handshake failed"
)

// connectError is an error that occurred while a connection was opened.
type connectError struct{ error }

// Unwrap returns the wrapped error.
func (e connectError) Unwrap() error { return e.error }

// connectionFailure translates a connection's error into a failure. If the kind of error is not known, the
// reason is connectionBroken.
func connectionFailure(ctx context.Context, err error) failure {
	var connectErr connectError
	var dnsErr *net.DNSError
	switch connecting := errors.As(err, &connectErr); {
	case errors.Is(context.Cause(ctx), context.Canceled):
		return failure{reason: interrupted}
	case timedOut(err) && connecting:
		return failure{reason: connectTimedOut}
	case timedOut(err):
		return failure{reason: attemptTimedOut}
	case errors.As(err, &dnsErr):
		return failure{reason: unknownHost}
	case certificateRejected(err):
		return failure{reason: untrustedCertificate}
	case handshakeFailed(err):
		return failure{reason: tlsFailed}
	case connecting:
		return failure{reason: notConnected}
	}
	return failure{reason: connectionBroken}
}
