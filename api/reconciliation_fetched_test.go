package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/stripestub"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/reconciliation"
)

// stubLines is a source of lines that reads the balance transactions of a stand-in for Stripe, two on a page.
type stubLines struct {
	stub *stripestub.Stub
	fail error // returned after the first page; nil: none
}

// balanceTransaction has the members of a balance transaction that become a line.
type balanceTransaction struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Amount   int64  `json:"amount"`
	Fee      int64  `json:"fee"`
	Currency string `json:"currency"`
	Created  int64  `json:"created"`
	Source   struct {
		ID       string            `json:"id"`
		Metadata map[string]string `json:"metadata"`
	} `json:"source"`
}

// Lines implements actors.LineSource.
func (s *stubLines) Lines(ctx context.Context, _ *directory.Terminal, after, until time.Time, fn func([]reconciliation.Line) error) error {
	query := url.Values{"limit": {"2"}, "expand[]": {"data.source"}, "created[lte]": {strconv.FormatInt(until.Unix(), 10)}}
	if !after.IsZero() {
		query.Set("created[gt]", strconv.FormatInt(after.Unix(), 10))
	}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.stub.URL+"/v1/balance_transactions?"+query.Encode(), nil)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+stripestub.DefaultSecretKey)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		var page struct {
			Data    []balanceTransaction `json:"data"`
			HasMore bool                 `json:"has_more"`
		}
		err = json.NewDecoder(response.Body).Decode(&page)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d: %w", response.StatusCode, err)
		}
		var lines []reconciliation.Line
		for _, b := range page.Data {
			lines = append(lines, b.line())
			query.Set("starting_after", b.ID)
		}
		if err := fn(lines); err != nil {
			return err
		}
		if s.fail != nil {
			return s.fail
		}
		if !page.HasMore {
			return nil
		}
	}
}

func (b *balanceTransaction) line() reconciliation.Line {
	l := reconciliation.Line{
		ID: b.ID, Kind: reconciliation.Charge, Outgoing: b.Amount < 0, Amount: money.FromUint64(uint64(max(b.Amount, -b.Amount))), Fee: money.Signed{Abs: money.FromUint64(uint64(b.Fee))},
		Asset: money.Asset{Currency: money.Currency(strings.ToUpper(b.Currency)), Env: money.Test}, Date: ledger.DateOf(time.Unix(b.Created, 0)),
	}
	if b.Type == "refund" {
		l.Kind = reconciliation.Refund
	}
	for _, text := range []string{b.Source.Metadata["reference"], b.Source.ID} {
		if text != "" {
			l.References = append(l.References, text)
		}
	}
	return l
}

// charge makes a charge of the amount, in US cents, that has the reference in its metadata.
func (s *stubLines) charge(t *testing.T, amount, reference string) {
	t.Helper()
	form := url.Values{
		"amount": {amount}, "currency": {"usd"}, "payment_method_types[]": {"card"}, "confirm": {"true"}, "payment_method": {"pm_card_visa"},
		"capture_method": {"automatic"}, "metadata[reference]": {reference},
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.stub.URL+"/v1/payment_intents", strings.NewReader(form.Encode()))
	must(t, err)
	request.Header.Set("Authorization", "Bearer "+stripestub.DefaultSecretKey)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
}

// The lines of a provider with an API are fetched page by page, from the end of the last report on. A provider that does not
// answer leaves nothing half imported.
func TestLinesAreFetchedSinceTheLastReport(t *testing.T) {
	t.Parallel()
	r := &reconciled{fixture: newFixture(t), ids: make(map[string]string)}
	r.terminal = r.paymentTerminal()
	source := &stubLines{stub: stripestub.New(t, stripestub.Options{Clock: r.Clock})}
	r.stopServer()
	r.stopBackend()
	r.lineSources = map[string]actors.LineSource{directory.Simulator: source}
	r.start()
	for _, p := range []struct{ txid, amount string }{{"a", "1000"}, {"b", "2000"}, {"c", "3000"}} {
		source.charge(t, p.amount, r.pay(p.txid, p.amount))
	}
	fetch := func() *response {
		return r.admin().importReport("terminal_id", r.terminal, "format", "stripe")
	}
	r.setClock("2026-09-03T11:00:00Z")
	source.fail = context.DeadlineExceeded
	before := r.events()
	fetch().want(503, "")
	if r.events() != before {
		t.Error("a fetch without an answer has stored something")
	}
	source.fail = nil
	first := fetch().want(201, "")
	first.wantFields(map[string]string{"data.lines": "3", "data.matched": "3", "data.differences": "0", "data.after": "null"})
	fetch().want(201, first.body) // nothing can have happened within the same second
	r.setClock("2026-09-03T12:00:00Z")
	source.charge(t, "4000", r.pay("d", "4000"))
	r.setClock("2026-09-03T13:00:00Z")
	fetch().want(201, "").wantFields(map[string]string{"data.lines": "1", "data.matched": "1", "data.after": first.at("data.until")})
	r.setClock("2026-09-03T13:30:00Z")
	source.charge(t, "5000", r.pay("e", "5000"))
	r.setClock("2026-09-03T13:34:59Z") // the provider may not list lines of the last five minutes yet
	early := fetch().want(201, "")
	early.wantFields(map[string]string{"data.lines": "0", "data.until": "2026-09-03T13:29:59.000000+00:00"})
	r.setClock("2026-09-03T13:35:00Z")
	fetch().want(201, "").wantFields(map[string]string{"data.lines": "1", "data.matched": "1", "data.after": early.at("data.until")})
	r.summary().wantFields(map[string]string{"data.ledger": "15000", "data.reported_to": "2026-09-03"})
	r.closeDay().want(200, "")
}
