package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"mizan/actors"
	"mizan/actors/provider/simulator"
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Our texts for calls that did not reach the simulator.
const (
	reasonUnreachable = "The provider could not be reached."
	reasonRefused     = "The provider did not accept the request."
)

// Options configure a Provider.
type Options struct {
	URL string // address of the process, as ParseURL accepts it
	Log *slog.Logger

	// Timeout is the real time that a request without a context of its own may take, such as a request of the challenge page.
	Timeout time.Duration
}

// Provider calls a simulator in another process. It is safe for concurrent use.
type Provider struct {
	log         *slog.Logger
	timeout     time.Duration
	connections *connections
	heads       map[string][]byte // the first bytes of the requests to each path

	mu       sync.Mutex
	lastPoll poll // guarded by mu
}

var _ actors.Provider = (*Provider)(nil)

// ParseURL returns the host and port of a simulator's process. The URL must be http://HOST:PORT with a loopback host, because
// the connection is not encrypted and carries card numbers.
func ParseURL(text string) (address string, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.Port() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.User != nil {
		return "", errors.New("is not of the form http://HOST:PORT")
	}
	if !isLoopback(u.Hostname()) {
		return "", errors.New("has to name an address of this machine, such as 127.0.0.1, because the connection is not encrypted")
	}
	return u.Host, nil
}

// isLoopback tells whether a host is this machine.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// New makes the provider. Connections are opened only when they are needed.
func New(o Options) (*Provider, error) {
	address, err := ParseURL(o.URL)
	if err != nil {
		return nil, fmt.Errorf("remote: the simulator's URL %w", err)
	}
	p := &Provider{log: o.Log, timeout: o.Timeout, connections: newConnections(address), heads: make(map[string][]byte)}
	for _, path := range []string{submitPath, inquirePath, reissuePath, reportsPath, challengePath, decidePath} {
		p.heads[path] = requestHead(address, path)
	}
	return p, nil
}

// Close closes the idle connections.
func (p *Provider) Close() error {
	p.connections.close()
	return nil
}

// Name implements actors.Provider.
func (p *Provider) Name() string { return directory.Simulator }

// Accepts implements actors.Provider.
func (p *Provider) Accepts(operation actors.Operation, method string) bool {
	return simulator.Accepts(operation, method)
}

// Submit implements actors.Provider.
func (p *Provider) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	assert.That(call.Operation >= actors.Pay && call.Operation <= actors.Refund, "remote: operation %d", call.Operation)
	deadline := deadlineOf(ctx)
	var answer outcomeMessage
	failed := p.exchange(ctx, deadline, submitPath, newCallMessage(call, time.Until(deadline)), &answer)
	if failed == nil {
		return p.outcome(&answer, call.Reference, call.Operation)
	}
	p.logFailure(failed, call.Reference, call.Operation)
	switch {
	case !failed.mayHaveArrived:
		return notSent(reasonUnreachable, true)
	case failed.isRefusal():
		return notSent(reasonRefused, false)
	}
	return actors.Outcome{Verdict: payment.VerdictUnknown, Unreachable: true}
}

func notSent(reason string, isUnreachable bool) actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: payment.Failure{Code: payment.ProcessingError, Detail: reason}, Unreachable: isUnreachable}
}

// Inquire implements actors.Provider.
func (p *Provider) Inquire(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	return p.ask(ctx, inquirePath, q)
}

// Reissue implements Reissuer of actors/payment.
func (p *Provider) Reissue(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	return p.ask(ctx, reissuePath, q)
}

// ask sends an inquiry. If there is no answer, the outcome stays unknown.
func (p *Provider) ask(ctx context.Context, path string, q *actors.Inquiry) actors.Outcome {
	deadline := deadlineOf(ctx)
	var answer outcomeMessage
	if failed := p.exchange(ctx, deadline, path, newInquiryMessage(q, time.Until(deadline)), &answer); failed != nil {
		p.logFailure(failed, q.Reference, q.Operation)
		return actors.Outcome{Verdict: payment.VerdictUnknown, Unreachable: !failed.isRefusal()}
	}
	return p.outcome(&answer, q.Reference, q.Operation)
}

// outcome returns the outcome in an answer. If the answer has a verdict that this program does not know, the outcome is unknown.
func (p *Provider) outcome(answer *outcomeMessage, reference ledger.ID, operation actors.Operation) actors.Outcome {
	o, err := answer.outcome()
	if err != nil {
		p.logFailure(err, reference, operation)
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}
	return o
}

func (p *Provider) logFailure(err error, reference ledger.ID, operation actors.Operation) {
	p.log.Warn("the simulator gave no usable answer", "reference", reference.String(), "operation", operation.String(), "error", err)
}

// Challenge implements Challenges of api/checkout. If there is no such challenge, the error is simulator.ErrNoChallenge.
func (p *Provider) Challenge(terminal, reference ledger.ID, token string) (simulator.Challenge, error) {
	var answer shownMessage
	if err := p.exchangeForPage(challengePath, &challengeMessage{Terminal: terminal, Reference: reference, Token: token}, &answer); err != nil {
		return simulator.Challenge{}, err
	}
	env, isEnv := money.ParseEnv(answer.Env)
	switch {
	case !answer.Exists:
		return simulator.Challenge{}, simulator.ErrNoChallenge
	case !isEnv:
		return simulator.Challenge{}, fmt.Errorf("remote: challenge: %w", errMessage)
	}
	return simulator.Challenge{
		Amount: answer.Amount, Asset: money.Asset{Currency: money.Currency(answer.Currency), Network: money.Network(answer.Network), Env: env},
		State: answer.State, ReturnURL: answer.ReturnURL,
	}, nil
}

// Decide implements Challenges of api/checkout. If the answer is lost, the decision may have been stored; the payer can decide
// again, because only the first decision counts.
func (p *Provider) Decide(terminal, reference ledger.ID, token string, approve bool) (returnURL string, org ledger.ID, err error) {
	var answer decidedMessage
	if err := p.exchangeForPage(decidePath, &challengeMessage{Terminal: terminal, Reference: reference, Token: token, Approve: approve}, &answer); err != nil {
		return "", ledger.ID{}, err
	}
	if !answer.Exists {
		return "", ledger.ID{}, simulator.ErrNoChallenge
	}
	return answer.ReturnURL, answer.Org, nil
}

// exchangeForPage makes a request for the challenge page, which has no context.
func (p *Provider) exchangeForPage(path string, question, answer any) error {
	ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
	defer cancel()
	if failed := p.exchange(ctx, deadlineOf(ctx), path, question, answer); failed != nil {
		p.log.Warn("the simulator gave no usable answer", "path", path, "error", failed)
		return fmt.Errorf("remote: %s: %w", path, failed)
	}
	return nil
}

// exchange makes one request and decodes the answer into the message answer.
func (p *Provider) exchange(ctx context.Context, deadline time.Time, path string, question, answer any) *failure {
	c, err := p.connections.acquire(ctx, deadline)
	if err != nil {
		return &failure{cause: cause(err)}
	}
	isReusable, failed := c.exchange(ctx, deadline, p.heads[path], question, answer)
	p.connections.release(c, isReusable)
	return failed
}

// deadlineOf returns the time until which a request may take.
func deadlineOf(ctx context.Context) time.Time {
	latest := time.Now().Add(maxWait)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(latest) {
		return deadline
	}
	return latest
}
