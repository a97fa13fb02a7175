package utp_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"mizan/actors"
	"mizan/actors/provider/utp"
	"mizan/internal/clock"
	"mizan/internal/providersuite"
	"mizan/internal/secret"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// otherPlatform is the rail of the providers' suite: a server, whose requests go through a proxy that disturbs them.
type otherPlatform struct {
	*platforms // only theirs is used
	*providersuite.Proxy
	clock     *clock.Manual
	moved     map[ledger.ID]providersuite.Movements
	movedFrom time.Time // what was updated before is in moved
}

// TestAdapterKeepsTheContractOfProviders runs the providers' suite against a real server.
func TestAdapterKeepsTheContractOfProviders(t *testing.T) {
	testkit.NotUnderRace(t, "the other platform is a process of its own, which makes the suite take a quarter of an hour; the simulator's runs under it")
	providersuite.Run(t, providersuite.Rail{
		Name: utp.Name, Asset: money.Asset{Currency: "USD", Env: money.Test},
		Lacks: map[providersuite.Feature]string{
			providersuite.Returns: "the other platform's sandbox pays out for good", providersuite.Preparations: "a charge is one call",
		},
		Start: func(tb testing.TB, c *clock.Manual) providersuite.StandIn { return startOtherPlatform(t, c) },
	})
}

func startOtherPlatform(t *testing.T, c *clock.Manual) *otherPlatform {
	p := &otherPlatform{movedFrom: time.Unix(0, 0).UTC(), platforms: &platforms{t: t, theirs: testkit.Start(t, testkit.Options{Flags: manualClock})}, clock: c}
	p.ours = p.theirs // for failure messages
	if err := c.Set(p.theirTime()); err != nil {
		t.Fatal(err)
	}
	second := p.theirs.Sandbox.Second.OrganizationID
	admin := p.theirs.Admin().With("x-organization-id", second)
	for _, terminal := range p.list(admin, v1+"/terminals?limit=100") {
		p.want(200)(admin.Do("PATCH", v1+"/terminal/"+terminal.text("id"), `{"provider_params":{"two_phase":true}}`))
	}
	ca, err := os.ReadFile(p.theirs.Sandbox.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	target, err := url.Parse(p.theirs.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	p.Proxy = providersuite.NewProxy(t, true, func(r *http.Request) providersuite.Target {
		if r.Method == http.MethodGet {
			return providersuite.Inquiries
		}
		return providersuite.Submissions
	}, func(r *http.Request) (*http.Response, error) {
		r.URL.Scheme, r.URL.Host, r.Host = target.Scheme, target.Host, target.Host
		return transport.RoundTrip(r)
	})
	return p
}

func (p *otherPlatform) theirTime() time.Time {
	at, err := time.Parse(time.RFC3339Nano, p.want(200)(p.theirs.Admin().Get(v1+"/sandbox/clock")).text("now"))
	if err != nil {
		p.t.Fatal(err)
	}
	return at
}

// Open implements providersuite.StandIn.
func (p *otherPlatform) Open(o providersuite.AdapterOptions) (actors.Provider, func() error) {
	adapter := utp.New(utp.Options{Clock: o.Clock, Log: o.Log, Timeout: o.Timeout, Terminals: o.Terminals})
	return adapter, adapter.Close
}

// Terminal implements providersuite.StandIn. Their second organization holds payments first.
func (p *otherPlatform) Terminal(o providersuite.TerminalOptions) directory.Terminal {
	box := &p.theirs.Sandbox
	params := map[string]string{"base_url": p.URL(), "organization_id": box.OrganizationID, "api_key": box.APIKey, "ca_pem": p.CertificatePEM()}
	if o.TwoPhase {
		params["organization_id"], params["api_key"] = box.Second.OrganizationID, box.Second.APIKey
	}
	if o.WrongCredentials {
		params["api_key"] = "mzk_wrong"
	}
	text, err := json.Marshal(params)
	if err != nil {
		p.t.Fatal(err)
	}
	return directory.Terminal{Provider: utp.Name, ProviderParams: text}
}

// Instrument implements providersuite.StandIn.
func (p *otherPlatform) Instrument(kind payment.Type, b providersuite.Behaviour) providersuite.Instrument {
	card := &secret.Card{
		Number: []byte(map[providersuite.Behaviour]string{
			providersuite.Succeeds: goodCard, providersuite.IsDeclined: declinedCard, providersuite.TakesTime: delayedCard,
			providersuite.NeedsPayer: otpCard, providersuite.ComesBack: chargebackCard,
		}[b]),
		Holder: []byte("A PAYER"), ExpMonth: []byte("12"), ExpYear: []byte("2031"),
	}
	if kind == payment.Payment {
		card.CVV = []byte("123")
	}
	return providersuite.Instrument{Method: payment.BankCard, Card: card}
}

// Act implements providersuite.StandIn: the payer enters a password.
func (p *otherPlatform) Act(_ *payment.Record, approve bool) []byte {
	if approve {
		return []byte(`{"otp":"123456"}`)
	}
	return []byte(`{"otp":"000000"}`)
}

// Advanced implements providersuite.StandIn.
func (p *otherPlatform) Advanced(now time.Time) {
	if seconds := int(now.Sub(p.theirTime()) / time.Second); seconds > 0 {
		p.advanceOne(p.theirs, seconds)
	}
}

// TakeBack implements providersuite.StandIn: the card has decided it already.
func (p *otherPlatform) TakeBack(*payment.Record) {}

// MoveLate implements providersuite.StandIn: the request to create the charge arrives after all.
func (p *otherPlatform) MoveLate(r *payment.Record, terminal *directory.Terminal) {
	body := params(r.Type.String(), goodCard, r.Amount.String(), r.ChargeReference().String())
	create := body["params"].(map[string]any)
	create["env"], create["merchant_meta"] = "test", map[string]string{"utp_terminal": terminal.ID.String()}
	p.want(201)(p.theirs.Partner().Post(transactions, body)).expect("status", "charged")
}

// SecretFree implements providersuite.StandIn.
func (p *otherPlatform) SecretFree() []string { return nil }

// Moved implements providersuite.StandIn. It reads the transactions of both organizations that have changed since the last time.
func (p *otherPlatform) Moved() map[ledger.ID]providersuite.Movements {
	if p.moved == nil {
		p.moved = make(map[ledger.ID]providersuite.Movements)
	}
	since := url.Values{"limit": {"100"}, "env": {"test"}, "updated_from": {p.movedFrom.Format(time.RFC3339)}}
	for _, partner := range []*testkit.Client{p.theirs.Partner(), p.theirs.SecondPartner()} {
		found := make(map[ledger.ID]providersuite.Movements)
		for _, row := range p.list(partner, transactions+"?"+since.Encode()) {
			var reference ledger.ID
			if row.text("merchant_meta.reversal_of") != "" || reference.UnmarshalText([]byte(row.text("txid"))) != nil {
				continue
			}
			m := found[reference]
			p.addMovements(&m, row)
			found[reference] = m
		}
		maps.Copy(p.moved, found)
	}
	p.movedFrom = p.clock.Now().Add(-time.Hour)
	return maps.Clone(p.moved)
}

func (p *otherPlatform) addMovements(m *providersuite.Movements, row object) {
	amountOf := func(name string) money.Amount {
		a, err := money.Parse(row.text(name))
		if err != nil {
			return money.Amount{}
		}
		return a
	}
	charged, refunded, status := amountOf("captured_amount"), amountOf("refunded_amount"), row.text("status")
	if charged.IsZero() {
		charged = amountOf("amount")
	}
	switch status {
	case "payment_suspended":
		m.Held = append(m.Held, amountOf("amount"))
		return
	case "charged", "refunding", "refunded", "reversed":
	default:
		return
	}
	if row.text("type") == "payout" {
		m.PaidOut = append(m.PaidOut, charged)
		return
	}
	m.Charged = append(m.Charged, charged)
	if !refunded.IsZero() {
		m.Refunded = append(m.Refunded, refunded)
	}
	if rest, err := charged.Sub(refunded); status == "reversed" && err == nil {
		m.TakenBack = append(m.TakenBack, rest)
	}
}
