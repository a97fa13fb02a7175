package operators

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wneessen/go-mail"
)

// Further reasons why an e-mail address was not reached; channels.go has the reasons that all channels share.
const (
	noStartTLS     = "the server offers no STARTTLS"
	invalidAddress = "is no address that mail can be sent to"
	noUTF8         = "the address has letters beyond ASCII, and the server offers no SMTPUTF8"
	noSignIn       = "the server offers no way to sign in that is known"
	noServer       = "e-mail: no server is configured" // why a whole attempt failed
)

// Email is an e-mail without its address. Both texts are UTF-8.
type Email struct {
	Subject string // one line
	Text    string // plain text
}

// SendsMail reports whether an SMTP server is configured.
func (c *Channels) SendsMail() bool { return c.mailer != nil }

// Mail makes one attempt to send an e-mail to one address, such as a payer's. Mail first waits until fewer than MaxMails
// attempts are in progress; from then on it returns within 15 s.
func (c *Channels) Mail(ctx context.Context, address string, l Email) Attempt {
	if c.mailer == nil {
		return Attempt{At: c.clock.Now(), Failure: noServer}
	}
	select {
	case c.mails <- struct{}{}:
		defer func() { <-c.mails }()
	case <-ctx.Done():
		return Attempt{At: c.clock.Now(), Failure: "e-mail: " + interrupted}
	}
	at, start := c.clock.Now(), time.Now()
	ctx, cancel := context.WithDeadline(ctx, start.Add(c.bounds.attempt))
	defer cancel()
	sent := c.mailer.send(ctx, []string{address}, l, at)
	return Attempt{At: at, Duration: time.Since(start), Status: sent.status, Failure: sent.summary("e-mail", 1)}
}

// mailer sends e-mails through an SMTP server.
type mailer struct {
	server    SMTP
	bounds    bounds
	tlsConfig *tls.Config
}

func newMailer(s SMTP, roots *x509.CertPool, b bounds) (*mailer, error) {
	switch s.TLS {
	case "":
		s.TLS = StartTLS
	case StartTLS, TLS:
	case Plain:
		if s.User != "" {
			return nil, errors.New("SMTP credentials are not given without TLS")
		}
	default:
		return nil, fmt.Errorf("%q is no way of encrypting SMTP", string(s.TLS))
	}
	p := &mailer{server: s, bounds: b, tlsConfig: &tls.Config{ServerName: s.Host, RootCAs: roots, MinVersion: tls.VersionTLS12}}
	if _, err := p.client(nil); err != nil {
		return nil, fmt.Errorf("the SMTP server cannot be used: %w", err)
	}
	if err := mail.NewMsg().From(s.From); err != nil {
		return nil, errors.New("the sender of e-mail is no address")
	}
	return p, nil
}

// client makes the mail library's client for one connection. The client opens the connection with dial, or by itself if
// dial is nil.
func (m *mailer) client(dial mail.DialContextFunc) (*mail.Client, error) {
	options := []mail.Option{mail.WithPort(m.server.Port), mail.WithTimeout(m.bounds.attempt), mail.WithTLSConfig(m.tlsConfig)}
	if dial != nil {
		options = append(options, mail.WithDialContextFunc(dial))
	}
	switch m.server.TLS {
	case TLS:
		options = append(options, mail.WithSSL())
	case StartTLS:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	case Plain:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	}
	if m.server.User != "" {
		// The authentication mechanisms are listed, because the mail library's own choice of them depends on whether the
		// library itself has opened the connection with TLS. But here dial opens the connection.
		options = append(options, mail.WithUsername(m.server.User), mail.WithPassword(string(m.server.Password)),
			mail.WithOpportunisticSMTPAuth(mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthPlain, mail.SMTPAuthLogin, mail.SMTPAuthCramMD5))
	}
	return mail.NewClient(m.server.Host, options...)
}

// send sends the e-mail to the addresses one by one, over one connection.
func (m *mailer) send(ctx context.Context, addresses []string, l Email, date time.Time) (result outcome) {
	// The connection is closed when send returns, at the latest: the mail library leaves it open if the greeting fails, and
	// ignores the context after the greeting.
	connCtx, closeConn := context.WithCancel(ctx)
	defer closeConn()
	deadline, _ := ctx.Deadline()
	client, err := m.client(func(context.Context, string, string) (net.Conn, error) {
		conn, err := m.open(ctx, deadline)
		if err == nil {
			context.AfterFunc(connCtx, func() { _ = conn.Close() })
		}
		return conn, err
	})
	if err != nil {
		return m.failAll(addresses, failure{reason: notConnected})
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return m.failAll(addresses, m.openFailure(ctx, deadline, err))
	}
	takesUTF8, _ := session.Extension("SMTPUTF8") // the extension of RFC 6531; if the server offers it, the mail library uses it
	letters := make([]*mail.Msg, len(addresses))
	for i, address := range addresses {
		if takesUTF8 || isASCII(address) {
			letters[i] = m.newMessage(address, l, date)
		}
	}
	err = client.SendWithSMTPClient(session, letters...)
	for i, letter := range letters {
		if !takesUTF8 && !isASCII(addresses[i]) {
			result.addFailure(addresses[i], failure{reason: noUTF8})
		} else if letter == nil {
			result.addFailure(addresses[i], failure{reason: invalidAddress})
		} else if !letter.IsDelivered() {
			result.addFailure(addresses[i], m.emailFailure(ctx, deadline, letter, err))
		}
	}
	_ = client.CloseWithSMTPClient(session) // accepted messages stay accepted
	return result
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// failAll returns the outcome of an attempt that reached none of the addresses.
func (m *mailer) failAll(addresses []string, f failure) (o outcome) {
	for _, address := range addresses {
		o.addFailure(address, f)
	}
	return o
}

func (m *mailer) open(ctx context.Context, deadline time.Time) (net.Conn, error) {
	options := dialOptions{timeout: m.bounds.connect, deadline: deadline}
	if m.server.TLS == TLS {
		options.tlsConfig = m.tlsConfig
	}
	return dial(ctx, net.JoinHostPort(m.server.Host, strconv.Itoa(m.server.Port)), options)
}

// newMessage makes the mail library's message for one address. If the address is invalid, newMessage returns nil.
func (m *mailer) newMessage(address string, l Email, date time.Time) *mail.Msg {
	letter := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if letter.From(m.server.From) != nil || letter.To(address) != nil {
		return nil
	}
	letter.Subject(l.Subject)
	letter.SetDateWithValue(date)
	letter.SetMessageID()
	letter.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: prevents automatic replies
	letter.SetBodyString(mail.TypeTextPlain, l.Text)
	return letter
}

// openFailure returns the reason why no SMTP session was opened.
func (m *mailer) openFailure(ctx context.Context, deadline time.Time, err error) failure {
	var response *textproto.Error
	switch {
	case errors.As(err, &response):
		return smtpRefusal(response.Code, "")
	case strings.Contains(err.Error(), "does not support STARTTLS"):
		return failure{reason: noStartTLS}
	case strings.Contains(err.Error(), "SMTP AUTH"):
		return failure{reason: noSignIn}
	}
	return m.connectionFailure(ctx, deadline, err)
}

// emailFailure returns the reason why the server refused an e-mail. sessionErr is the error of the whole session.
func (m *mailer) emailFailure(ctx context.Context, deadline time.Time, letter *mail.Msg, sessionErr error) failure {
	var sendError *mail.SendError
	if errors.As(letter.SendError(), &sendError) && sendError.ErrorCode() != 0 {
		return smtpRefusal(sendError.ErrorCode(), sendError.EnhancedStatusCode())
	}
	return m.connectionFailure(ctx, deadline, sessionErr)
}

// connectionFailure translates a connection's error into a failure. It recognises that the deadline has passed even if
// the mail library's error does not say so.
func (m *mailer) connectionFailure(ctx context.Context, deadline time.Time, err error) failure {
	f := connectionFailure(ctx, err)
	if f.reason == connectionBroken && !time.Now().Before(deadline) {
		f.reason = attemptTimedOut
	}
	return f
}

// smtpRefusal returns the failure for a server's refusal (RFC 5321, 4.2; RFC 3463).
func smtpRefusal(code int, enhancedCode string) failure {
	reason := "the server refused with " + strconv.Itoa(code)
	if enhancedCode != "" {
		reason += " " + enhancedCode
	}
	return failure{status: code, reason: reason}
}
