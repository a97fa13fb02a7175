package simulated

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/actors/provider/simulator"
	"mizan/actors/provider/simulator/remote"
	"mizan/internal/clock"
	"mizan/internal/providersuite"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// patience bounds the stop of the simulator's server.
const patience = 2 * time.Minute

// What the simulator lacks, in the process and behind a connection.
const (
	noCredentials  = "the simulator accepts every terminal"
	noReturns      = "the simulator pays out for good"
	noPreparations = "a charge is one call"
	noLateMoney    = "a call that has not arrived never moves money at the simulator, and it reports chargebacks only"
	noConnection   = "the simulator is in the same process"
)

var asset = money.Asset{Currency: "USD", Env: money.Prod}

// Local is the simulator in the process of the core.
func Local() providersuite.Rail {
	return providersuite.Rail{
		Name: directory.Simulator, Asset: asset,
		Lacks: map[providersuite.Feature]string{
			providersuite.Credentials: noCredentials, providersuite.Returns: noReturns, providersuite.LateCharges: noLateMoney, providersuite.LatePayouts: noLateMoney, providersuite.Connections: noConnection, providersuite.Preparations: noPreparations,
		},
		Start: func(tb testing.TB, c *clock.Manual) providersuite.StandIn {
			s := &local{rail: open(tb, c)}
			tb.Cleanup(s.close)
			return s
		},
	}
}

// Remote is the simulator behind a connection.
func Remote() providersuite.Rail {
	return providersuite.Rail{
		Name: directory.Simulator, Asset: asset,
		Lacks: map[providersuite.Feature]string{
			providersuite.Credentials: noCredentials, providersuite.Returns: noReturns, providersuite.LateCharges: noLateMoney, providersuite.LatePayouts: noLateMoney, providersuite.Preparations: noPreparations,
		},
		Start: startRemote,
	}
}

// rail is the simulator and what both ways to it have in common.
type rail struct {
	tb        testing.TB
	dir       string
	clock     *clock.Manual
	simulator *simulator.Simulator
}

func open(tb testing.TB, c *clock.Manual) rail {
	tb.Helper()
	dir := tb.TempDir()
	s, err := simulator.Open(simulator.Options{
		Path: filepath.Join(dir, logName), Clock: c, BaseURL: "https://mizan.example", Key: make([]byte, simulator.KeySize),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return rail{tb: tb, dir: dir, clock: c, simulator: s}
}

const logName = "simulator.log"

func (r *rail) close() {
	if err := r.simulator.Close(); err != nil {
		r.tb.Error(err)
	}
}

// Terminal implements providersuite.StandIn.
func (r *rail) Terminal(providersuite.TerminalOptions) directory.Terminal {
	return directory.Terminal{Provider: directory.Simulator, ProviderParams: []byte(`{}`)}
}

// cards are the card numbers of the behaviours, by the simulator's documentation.
var cards = map[providersuite.Behaviour]string{
	providersuite.Succeeds: "4242424242424242", providersuite.IsDeclined: "4000000000000002", providersuite.TakesTime: "4000000000000077",
	providersuite.NeedsPayer: "4000000000003220", providersuite.ComesBack: "4000000000000259",
}

// Instrument implements providersuite.StandIn.
func (r *rail) Instrument(kind payment.Type, b providersuite.Behaviour) providersuite.Instrument {
	card := &secret.Card{Number: []byte(cards[b]), Holder: []byte("JANE DOE"), ExpMonth: []byte("12"), ExpYear: []byte("2030")}
	if kind == payment.Payment {
		card.CVV = []byte("737")
	}
	return providersuite.Instrument{Method: payment.BankCard, Card: card}
}

// Act implements providersuite.StandIn: the payer decides on the challenge page.
func (r *rail) Act(tx *payment.Record, approve bool) []byte {
	r.tb.Helper()
	page, err := url.Parse(cmp.Or(tx.Action.Page, tx.Action.URL))
	if err != nil {
		r.tb.Fatal(err)
	}
	q := page.Query()
	terminal, reference := uuid.MustParse(q.Get(simulator.TerminalParam)), uuid.MustParse(q.Get(simulator.ReferenceParam))
	if _, _, err := r.simulator.Decide(terminal, reference, q.Get(simulator.TokenParam), approve); err != nil {
		r.tb.Fatal(err)
	}
	return nil
}

// Advanced implements providersuite.StandIn.
func (r *rail) Advanced(time.Time) {}

// TakeBack implements providersuite.StandIn: the card has decided it already.
func (r *rail) TakeBack(*payment.Record) {}

// MoveLate implements providersuite.StandIn.
func (r *rail) MoveLate(*payment.Record, *directory.Terminal) { r.tb.Fatal(noLateMoney) }

// SecretFree implements providersuite.StandIn.
func (r *rail) SecretFree() []string { return []string{r.dir} }

// line has the members of a line of the log that say what has moved.
type line struct {
	Reference                  ledger.ID
	Operation, Outcome         string
	Charge, Status             string
	Captured, Refunded, Amount money.Amount
	Then                       string
	At                         time.Time
	Before                     *string
}

// Moved implements providersuite.StandIn. The newest line of a charge has its whole state.
func (r *rail) Moved() map[ledger.ID]providersuite.Movements {
	r.tb.Helper()
	content, err := os.ReadFile(filepath.Join(r.dir, logName))
	if err != nil {
		r.tb.Fatal(err)
	}
	newest := make(map[ledger.ID]line)
	for text := range bytes.Lines(bytes.TrimRight(content, "\x00")) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			r.tb.Fatalf("%s: %v", text, err)
		}
		if l.Before == nil {
			l.Charge, l.Status, l.Captured = l.Operation, l.Outcome, l.Amount
		}
		newest[l.Reference] = l
	}
	moved := make(map[ledger.ID]providersuite.Movements)
	for reference, l := range newest {
		if m := l.movements(r.clock.Now()); m != nil {
			moved[reference] = *m
		}
	}
	return moved
}

// movements returns what has moved for a charge by now; nil: nothing.
func (l *line) movements(now time.Time) *providersuite.Movements {
	isDue := !l.At.After(now)
	if (l.Status == "pending" || l.Status == "unknown") && isDue {
		l.Status, l.Captured = l.Then, l.Amount
	}
	switch {
	case l.Status == "held":
		return &providersuite.Movements{Held: []money.Amount{l.Amount}}
	case l.Status != "charged":
		return nil
	case l.Charge == actors.PayOut.String():
		return &providersuite.Movements{PaidOut: []money.Amount{l.Captured}}
	}
	m := &providersuite.Movements{Charged: []money.Amount{l.Captured}}
	if !l.Refunded.IsZero() {
		m.Refunded = []money.Amount{l.Refunded}
	}
	if rest, err := l.Captured.Sub(l.Refunded); l.Then == "reversed" && isDue && err == nil && !rest.IsZero() {
		m.TakenBack = []money.Amount{rest}
	}
	return m
}

// local is the simulator in the process of the core.
type local struct {
	rail
	providersuite.Boundary
}

// Open implements providersuite.StandIn.
func (s *local) Open(providersuite.AdapterOptions) (actors.Provider, func() error) {
	return s.Around(s.simulator), func() error { return nil }
}

// connected is the simulator behind a connection.
type connected struct {
	rail
	*providersuite.Proxy
	address string
}

func startRemote(tb testing.TB, c *clock.Manual) providersuite.StandIn {
	tb.Helper()
	s := &connected{rail: open(tb, c)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.address = listener.Addr().String()
	server, ended := remote.NewServer(s.simulator, c), make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			tb.Error(err)
		}
		if err := <-ended; err != nil {
			tb.Error(err)
		}
		s.close()
	})
	transport := &http.Transport{DisableKeepAlives: true}
	s.Proxy = providersuite.NewProxy(tb, false, func(r *http.Request) providersuite.Target {
		if filepath.Base(r.URL.Path) == "submit" {
			return providersuite.Submissions
		}
		return providersuite.Inquiries
	}, func(r *http.Request) (*http.Response, error) {
		r.URL.Scheme, r.URL.Host, r.Host = "http", s.address, s.address
		return transport.RoundTrip(r)
	})
	return s
}

// Open implements providersuite.StandIn.
func (s *connected) Open(o providersuite.AdapterOptions) (actors.Provider, func() error) {
	p, err := remote.New(remote.Options{URL: s.URL(), Log: slog.New(o.Log.Handler()), Timeout: o.Timeout})
	if err != nil {
		s.tb.Fatal(err)
	}
	return rarelyPolled{p}, p.Close
}

// rarelyPolled is the adapter with fewer polls: it wants one in each second of the business clock, of which a test passes weeks.
type rarelyPolled struct{ *remote.Provider }

const pollInterval = 10 * time.Minute

// NextReport returns when the adapter is polled.
func (rarelyPolled) NextReport(since time.Time) (time.Time, bool) {
	return since.Add(pollInterval), true
}
