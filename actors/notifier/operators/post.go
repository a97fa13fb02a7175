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

	"github.com/wneessen/go-mail"

	"mizan/ledger/alerts"
)

// Why an address was not reached, in addition to the reasons of a failed connection.
const (
	noStartTLS = "the server offers no STARTTLS"
	noAddress  = "is no address that mail can be sent to"
	noSignIn   = "the server offers no way to sign in that is known"
)

// post sends messages by e-mail.
type post struct {
	server    SMTP
	bounds    bounds
	tlsConfig *tls.Config
}

func newPost(s SMTP, roots *x509.CertPool, b bounds) (*post, error) {
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
	p := &post{server: s, bounds: b, tlsConfig: &tls.Config{ServerName: s.Host, RootCAs: roots, MinVersion: tls.VersionTLS12}}
	if _, err := p.client(nil); err != nil {
		return nil, fmt.Errorf("the SMTP server cannot be used: %w", err)
	}
	if err := mail.NewMsg().From(s.From); err != nil {
		return nil, errors.New("the sender of e-mail is no address")
	}
	return p, nil
}

// client makes the library's client for one connection, which the function open opens.
func (p *post) client(dial mail.DialContextFunc) (*mail.Client, error) {
	options := []mail.Option{mail.WithPort(p.server.Port), mail.WithTimeout(p.bounds.answer), mail.WithTLSConfig(p.tlsConfig)}
	if dial != nil {
		options = append(options, mail.WithDialContextFunc(dial))
	}
	switch p.server.TLS {
	case TLS:
		options = append(options, mail.WithSSL())
	case StartTLS:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	case Plain:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	}
	if p.server.User != "" {
		// The mechanisms are listed here, because the library's own choice depends on whether the
		// library has opened the connection with TLS, and here it has not opened the connection.
		options = append(options, mail.WithUsername(p.server.User), mail.WithPassword(string(p.server.Password)),
			mail.WithOpportunisticSMTPAuth(mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthPlain, mail.SMTPAuthLogin, mail.SMTPAuthCramMD5))
	}
	return mail.NewClient(p.server.Host, options...)
}

// send sends the message to the addresses one by one, over one connection.
func (p *post) send(ctx context.Context, addresses []string, m alerts.Message, at time.Time) (o outcome) {
	// The connection is closed here at the latest: the library leaves it open if the greeting
	// fails, and ignores the context after that.
	goodbye, hangUp := context.WithCancel(ctx)
	defer hangUp()
	deadline, _ := ctx.Deadline()
	client, err := p.client(func(context.Context, string, string) (net.Conn, error) {
		conn, err := p.open(ctx, deadline)
		if err == nil {
			context.AfterFunc(goodbye, func() { _ = conn.Close() })
		}
		return conn, err
	})
	if err != nil {
		return p.missAll(addresses, failure{why: notConnected})
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return p.missAll(addresses, p.openFailure(ctx, deadline, err))
	}
	letters := make([]*mail.Msg, len(addresses))
	for i, address := range addresses {
		letters[i] = p.letter(address, m, at)
	}
	err = client.SendWithSMTPClient(session, letters...)
	for i, letter := range letters {
		if letter == nil {
			o.addFailure(addresses[i], failure{why: noAddress})
		} else if !letter.IsDelivered() {
			o.addFailure(addresses[i], p.letterFailure(ctx, deadline, letter, err))
		}
	}
	_ = client.CloseWithSMTPClient(session) // accepted messages stay accepted
	return o
}

func (p *post) missAll(addresses []string, f failure) (o outcome) {
	for _, address := range addresses {
		o.addFailure(address, f)
	}
	return o
}

func (p *post) open(ctx context.Context, until time.Time) (net.Conn, error) {
	w := dialOptions{bound: p.bounds.connect, until: until}
	if p.server.TLS == TLS {
		w.tlsConfig = p.tlsConfig
	}
	return dial(ctx, net.JoinHostPort(p.server.Host, strconv.Itoa(p.server.Port)), w)
}

// letter makes the message to one address; nil if the address is invalid.
func (p *post) letter(to string, m alerts.Message, at time.Time) *mail.Msg {
	letter := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if letter.From(p.server.From) != nil || letter.To(to) != nil {
		return nil
	}
	letter.Subject(m.Subject)
	letter.SetDateWithValue(at)
	letter.SetMessageID()
	letter.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: automatic replies are not sent to it
	letter.SetBodyString(mail.TypeTextPlain, m.Text)
	return letter
}

// openFailure returns why there is no session.
func (p *post) openFailure(ctx context.Context, until time.Time, err error) failure {
	var answer *textproto.Error
	switch {
	case errors.As(err, &answer):
		return refusedBy(answer.Code, "")
	case strings.Contains(err.Error(), "does not support STARTTLS"):
		return failure{why: noStartTLS}
	case strings.Contains(err.Error(), "SMTP AUTH"):
		return failure{why: noSignIn}
	}
	return p.connectionFailure(ctx, until, err)
}

// letterFailure returns why the server refused a letter; sending is the error of the whole sending.
func (p *post) letterFailure(ctx context.Context, until time.Time, letter *mail.Msg, sending error) failure {
	var sendError *mail.SendError
	if errors.As(letter.SendError(), &sendError) && sendError.ErrorCode() != 0 {
		return refusedBy(sendError.ErrorCode(), sendError.EnhancedStatusCode())
	}
	return p.connectionFailure(ctx, until, sending)
}

// connectionFailure returns the failure that a connection's error means. It also recognises a passed
// deadline that the library has hidden.
func (p *post) connectionFailure(ctx context.Context, until time.Time, err error) failure {
	f := connectionFailure(ctx, err)
	if f.why == broken && !time.Now().Before(until) {
		f.why = noAnswer
	}
	return f
}

// refusedBy returns the failure for a server's refusal (RFC 5321, 4.2; RFC 3463).
func refusedBy(code int, enhanced string) failure {
	why := "the server refused with " + strconv.Itoa(code)
	if enhanced != "" {
		why += " " + enhanced
	}
	return failure{status: code, why: why}
}
