package balances_test

import (
	"slices"
	"strings"
	"testing"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
)

// checkCurrency reads a trial balance in one currency in pages, and compares it with the accounts' lines.
func (f *fixture) checkCurrency(q balances.Query, code money.Currency, pageSize int) {
	f.t.Helper()
	q.Filter = func(a ledger.Account) bool { return a.Asset.Currency == code }
	q.Currency = &code
	v := f.Journal.View()
	var all, want listing
	err := balances.FromPages(v, org, q, all.add)
	v.Close()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, l := range all {
		if strings.Contains(l, "/"+string(code)+"/") {
			want = append(want, l)
		}
	}
	if got := f.trialInPages(q, pageSize); !slices.Equal(got, want) {
		f.t.Fatalf("%s, %+v:\ngot  %d rows %q\nwant %d rows %q", code, q, len(got), got, len(want), want)
	}
}

// Pages in one currency have all its accounts, also those that were opened after the index was made.
func TestPagesInOneCurrencyHaveAllItsAccounts(t *testing.T) {
	random := testseed.Random(t)
	f := open(t)
	const days = 20
	var instants []ledger.Micros
	check := func() {
		for range 5 {
			q := randomQuery(random, append(instants, 1<<62), days)
			f.checkCurrency(q, []money.Currency{"USD", "EUR", "USDT", "XTS"}[random.IntN(4)], 1+random.IntN(20))
		}
	}
	instants = historyByDay(f, random, days, check)
	check()
	if !f.reader.IsListed(org, money.Prod, "EUR") {
		t.Error("the index was not used")
	}
}

// The index does not list a currency that very many accounts have. Its pages, and those of other currencies, are right.
func TestCurrencyOfManyAccountsIsNotListed(t *testing.T) {
	f := open(t)
	f.MustSubmit(deposit(1))
	euro := transfer(ledger.Posted, line("A:bank", ledger.Debit, 7), line("L:partner:12345:available", ledger.Credit, 7))
	for i := range euro.Steps[0].Events[0].Entry.Postings {
		euro.Steps[0].Events[0].Entry.Postings[i].Asset.Currency = "EUR"
	}
	f.MustSubmit(euro)
	q := balances.Query{Env: money.Prod, At: 1 << 62}
	for n := range balances.MaxListed/posting.MaxSteps + 1 {
		f.MustSubmit(entriesOfNewPartners(n))
		if n == 0 {
			f.checkCurrency(q, "EUR", 5)
			if !f.reader.IsListed(org, money.Prod, "USD") {
				t.Error("the index does not list few accounts")
			}
		}
	}
	f.checkCurrency(q, "EUR", 1)
	f.checkCurrency(q, "USD", 1000)
	if !f.reader.IsListed(org, money.Prod, "EUR") || f.reader.IsListed(org, money.Prod, "USD") {
		t.Error("the index lists another currency than the rare one")
	}
}
