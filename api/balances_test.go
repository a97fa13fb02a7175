package api_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

const balancesPath = "/api/v1/balances"

// bookTransfer books one entry with a debit and a credit in the first organization.
func (f *fixture) bookTransfer(phase ledger.Phase, debit, credit ledger.Path, asset money.Asset, amount string) {
	f.t.Helper()
	parsed := money.MustParse(amount)
	f.bookEntry(&ledger.Entry{Phase: phase, Postings: []ledger.Posting{
		{Account: debit, Asset: asset, Side: ledger.Debit, Amount: parsed}, {Account: credit, Asset: asset, Side: ledger.Credit, Amount: parsed},
	}})
}

func (f *fixture) bookEntry(entry *ledger.Entry) {
	f.t.Helper()
	receipts := make(chan posting.Receipt, 1)
	f.Journal.Submit(&posting.Change{Author: ledger.BySystem.Author(), MustRecord: true, Steps: []posting.Step{{
		Org: f.seed.First.Org, Source: ledger.Source{Kind: ledger.Settlement, ID: uuid.New()}, Record: []byte{1},
		Events: []ledger.Event{{Name: "book", To: "done", Entry: entry}},
	}}}, func(r posting.Receipt) { receipts <- r })
	must(f.t, (<-receipts).Err)
}

func TestBalancesShowAvailableAndPendingMoney(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	// The sandbox begins with a million of each currency; a payout reduces the balance.
	f.partner().get(balancesPath+"?currency=KZT").want(200,
		`{"data":[{"currency":"KZT","network":"","env":"prod","scale":2,"available":"100000000","pending":"0"},`+
			`{"currency":"KZT","network":"","env":"test","scale":2,"available":"100000000","pending":"0"}]}`)
	f.partner().post(transactions, `{"params":{"type":"payout","amount":"100","currency":"KZT","env":"test","money_storage":{"type":"bank_card","cardnumber":"4242424242424242"}}}`).want(201, "")
	f.partner().post(transactions, paymentBody(`"amount":"7","currency":"KZT"`)).want(201, "")
	f.partner().get(balancesPath+"?currency=KZT&env=test").want(200,
		`{"data":[{"currency":"KZT","network":"","env":"test","scale":2,"available":"99999907","pending":"0"}]}`)
	// Pending debits reduce the available balance. Pending credits do not raise it, but are shown as pending. Then a posted debit
	// makes the balance negative.
	kzt, available := money.Asset{Currency: "KZT", Env: money.Test}, ledger.PartnerAvailable(1)
	f.bookTransfer(ledger.Pending, available, ledger.Bank, kzt, "7")
	f.bookTransfer(ledger.Pending, ledger.Bank, available, kzt, "5000")
	f.partner().get(balancesPath+"?currency=KZT&env=test").want(200,
		`{"data":[{"currency":"KZT","network":"","env":"test","scale":2,"available":"99999900","pending":"5000"}]}`)
	f.bookTransfer(ledger.Posted, available, ledger.Bank, kzt, "100000000")
	f.partner().get(balancesPath+"?currency=KZT&env=test").want(200,
		`{"data":[{"currency":"KZT","network":"","env":"test","scale":2,"available":"-100","pending":"5000"}]}`)
}

func TestBalancesAreOrderedAndFiltered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.bookTransfer(ledger.Posted, ledger.Bank, ledger.PartnerAvailable(1), money.Asset{Currency: "USDT", Env: money.Prod}, "3")
	f.bookTransfer(ledger.Posted, ledger.Bank, ledger.PartnerReceivable(1), money.Asset{Currency: "USDT", Network: "solana", Env: money.Prod}, "3")
	f.bookTransfer(ledger.Posted, ledger.Bank, ledger.PartnerAvailable(1)+"2", money.Asset{Currency: "USDT", Network: "solana", Env: money.Prod}, "3")
	listRows := func(query string) (rowTexts []string) {
		r := f.partner().get(balancesPath+query).want(200, "")
		for i := range r.rows() {
			rowPath := fmt.Sprintf("data.%d.", i)
			rowTexts = append(rowTexts, r.at(rowPath+"env")+" "+r.at(rowPath+"currency")+" "+r.at(rowPath+"network")+" "+r.at(rowPath+"scale"))
		}
		return rowTexts
	}
	for query, want := range map[string][]string{
		"?currency=USDT": {
			"prod USDT  null", "prod USDT bsc 18", "prod USDT ethereum 6", "prod USDT ton 6", "prod USDT tron 6",
			"test USDT bsc 18", "test USDT ethereum 6", "test USDT ton 6", "test USDT tron 6",
		},
		"?network=bsc":                {"prod USDC bsc 18", "prod USDT bsc 18", "test USDC bsc 18", "test USDT bsc 18"},
		"?network=bsc&env=prod":       {"prod USDC bsc 18", "prod USDT bsc 18"},
		"?network=&currency=USDT":     {"prod USDT  null"},
		"?network=solana&env=prod":    {"prod USDC solana 6"},
		"?network=nowhere":            nil,
		"?currency=RUB&network=tron":  nil,
		"?currency=RUB&env=test":      {"test RUB  2"},
		"?currency=ETH":               {"prod ETH ethereum 18", "test ETH ethereum 18"},
		"?currency=RUB&network=":      {"prod RUB  2", "test RUB  2"},
		"?currency=USDT&network=tron": {"prod USDT tron 6", "test USDT tron 6"},
	} {
		if got := listRows(query); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s:\n got %q\nwant %q", query, got, want)
		}
	}
	allRows := listRows("")
	if len(allRows) != 2*len(money.AcceptedAssets(money.Prod))+1 || allRows[0] != "prod AZN  2" || allRows[len(allRows)-1] != "test ZOLT  8" {
		t.Errorf("%d rows: %q", len(allRows), allRows)
	}
}

func TestBalancesRefuseUnknownParameters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for query, want := range map[string]string{
		"?limit=5":                 `{"errors":[{"code":"invalid","detail":"Unexpected field","field":"limit"}]}`,
		"?partner_id=1":            `{"errors":[{"code":"invalid","detail":"Unexpected field","field":"partner_id"}]}`,
		"?currency=JPY":            `{"errors":[{"code":"invalid","detail":"unsupported currency JPY","field":"currency"}]}`,
		"?currency=":               `{"errors":[{"code":"invalid","detail":"unsupported currency ","field":"currency"}]}`,
		"?env=both":                `{"errors":[{"code":"invalid","detail":"env must be prod or test","field":"env"}]}`,
		"?network=TRON":            `{"errors":[{"code":"invalid","detail":"network must be a name in lower case","field":"network"}]}`,
		"?env=test&env=prod":       `{"errors":[{"code":"invalid","detail":"env is there twice","field":"env"}]}`,
		"?currency=USD&network=a.": `{"errors":[{"code":"invalid","detail":"network must be a name in lower case","field":"network"}]}`,
	} {
		f.partner().get(balancesPath+query).want(422, want)
	}
}

func TestPartnerSeesOnlyItsOwnBalances(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.otherPartner().get(balancesPath).want(200, `{"data":[]}`)
	f.partner().post(transactions, paymentBody(`"amount":"7","currency":"KZT"`)).want(201, "")
	f.second().get(balancesPath+"?currency=KZT&env=test").want(200,
		`{"data":[{"currency":"KZT","network":"","env":"test","scale":2,"available":"100000000","pending":"0"}]}`)
}

// One response shows at most 1000 balances. The number of a partner's assets is not bounded, because networks are
// arbitrary names.
func TestNumberOfBalancesIsBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const bound = 1_000
	for n := f.partner().get(balancesPath).want(200, "").rows(); n < bound; {
		entry := &ledger.Entry{Phase: ledger.Posted}
		for range min(100, bound-n) {
			n++
			asset, oneUnit := money.Asset{Currency: "USDT", Network: money.Network(fmt.Sprintf("n%d", n)), Env: money.Prod}, money.FromUint64(1)
			entry.Postings = append(entry.Postings,
				ledger.Posting{Account: ledger.Bank, Asset: asset, Side: ledger.Debit, Amount: oneUnit},
				ledger.Posting{Account: ledger.PartnerAvailable(1), Asset: asset, Side: ledger.Credit, Amount: oneUnit})
		}
		f.bookEntry(entry)
	}
	if n := f.partner().get(balancesPath).want(200, "").rows(); n != bound {
		t.Errorf("%d rows", n)
	}
	f.bookTransfer(ledger.Posted, ledger.Bank, ledger.PartnerAvailable(1), money.Asset{Currency: "USDC", Env: money.Prod}, "1")
	if r := f.partner().get(balancesPath).want(422, ""); r.at("errors.0.field") != "currency" {
		t.Errorf("%s", r.body)
	}
	f.partner().get(balancesPath+"?currency=RUB").want(200, "")
}
