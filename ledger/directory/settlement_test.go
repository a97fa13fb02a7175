package directory

import (
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
)

func networkPointer(network money.Network) *money.Network { return &network }

// validDraft returns a draft of a settlement of 25.00 USD in the test environment.
func validDraft() SettlementDraft {
	return SettlementDraft{Currency: "USD", Env: money.Test, Amount: money.FromUint64(2500), Reference: "wire 7"}
}

func TestFieldsOfASettlement(t *testing.T) {
	largest := ledger.MaxAmount
	tooLarge, err := largest.Add(money.FromUint64(1))
	if err != nil {
		t.Fatal(err)
	}
	owner := &Partner{ID: testID(1), Org: testID(2), Number: 4}
	for name, c := range map[string]struct {
		change func(*SettlementDraft)
		field  string
	}{
		"valid":                                {func(*SettlementDraft) {}, ""},
		"a currency of contracts only":         {func(draft *SettlementDraft) { draft.Currency = "AED" }, "currency"},
		"no currency":                          {func(draft *SettlementDraft) { draft.Currency = "" }, "currency"},
		"no env":                               {func(draft *SettlementDraft) { draft.Env = 0 }, "env"},
		"amount of zero":                       {func(draft *SettlementDraft) { draft.Amount = money.Amount{} }, "amount"},
		"the largest amount":                   {func(draft *SettlementDraft) { draft.Amount = largest }, ""},
		"more than the largest amount":         {func(draft *SettlementDraft) { draft.Amount = tooLarge }, "amount"},
		"no reference":                         {func(draft *SettlementDraft) { draft.Reference = "" }, "reference"},
		"a blank reference":                    {func(draft *SettlementDraft) { draft.Reference = " " }, "reference"},
		"the longest reference":                {func(draft *SettlementDraft) { draft.Reference = strings.Repeat("é", 255) }, ""},
		"too long a reference":                 {func(draft *SettlementDraft) { draft.Reference = strings.Repeat("é", 256) }, "reference"},
		"a control character in the reference": {func(draft *SettlementDraft) { draft.Reference = "a\nb" }, "reference"},
		"several networks, none named":         {func(draft *SettlementDraft) { draft.Currency = "USDT" }, "network"},
		"several networks, an empty one named": {func(draft *SettlementDraft) { draft.Currency, draft.Network = "USDT", networkPointer("") }, ""},
		"one of several networks":              {func(draft *SettlementDraft) { draft.Currency, draft.Network = "USDT", networkPointer("tron") }, ""},
		"a network that isn't listed":          {func(draft *SettlementDraft) { draft.Currency, draft.Network = "USDT", networkPointer("polygon") }, "network"},
		"another currency's network":           {func(draft *SettlementDraft) { draft.Currency, draft.Network = "ETH", networkPointer("tron") }, "network"},
		"a network of fiat":                    {func(draft *SettlementDraft) { draft.Network = networkPointer("tron") }, ""},
		"a network's name in capitals":         {func(draft *SettlementDraft) { draft.Currency, draft.Network = "USDT", networkPointer("Tron") }, "network"},
		"malformed network of a fiat currency": {func(draft *SettlementDraft) { draft.Network = networkPointer("a network") }, "network"},
	} {
		draft := validDraft()
		c.change(&draft)
		_, _, err := NewSettlement(testID(3), owner, false, draft)
		wantField(t, name, err, c.field)
	}
}

func TestTheNetworkOfASettlementIsFoundAsATransactionsIs(t *testing.T) {
	for _, c := range []struct {
		currency money.Currency
		sent     *money.Network
		want     money.Network
	}{
		{"USD", nil, ""}, {"USD", networkPointer(""), ""}, {"USD", networkPointer("tron"), ""}, // a national currency is on no network
		{"ETH", nil, "ethereum"}, {"ETH", networkPointer(""), "ethereum"}, {"TON", nil, "ton"},
		{"USDT", networkPointer(""), ""}, {"USDT", networkPointer("bsc"), "bsc"}, {"USDC", networkPointer("solana"), "solana"},
	} {
		draft := validDraft()
		draft.Currency, draft.Network = c.currency, c.sent
		s, _, err := NewSettlement(testID(3), &Partner{Number: 4}, true, draft)
		if err != nil || s.Lines[0].Asset.Network != c.want {
			t.Errorf("%s %v: %+v, %v", c.currency, c.sent, s, err)
		}
	}
}

// wantPostings checks an event's postings: side, account, amount, and the Spill account.
func wantPostings(t *testing.T, event ledger.Event, want ...string) {
	t.Helper()
	var got []string
	for _, p := range event.Entry.Postings {
		line := map[ledger.Side]string{ledger.Debit: "Dr ", ledger.Credit: "Cr "}[p.Side] + string(p.Account) + " " + p.Amount.String()
		if p.SplitWith != "" {
			line += " spilling to " + string(p.SplitWith)
		}
		got = append(got, line)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || event.Entry.Phase != ledger.Posted {
		t.Errorf("%v: %s, want %s", event.Entry.Phase, strings.Join(got, ", "), strings.Join(want, ", "))
	}
}

func TestASettlementWithABank(t *testing.T) {
	usd := money.Asset{Currency: "USD", Env: money.Test}
	owner := &Partner{Org: testID(2), Number: 4, Overdraft: []Overdraft{{usd, money.FromUint64(70)}}}
	outgoing, event, err := NewSettlement(testID(3), owner, true, validDraft())
	if err != nil {
		t.Fatal(err)
	}
	wantPostings(t, event, "Dr L:partner:4:available 2500", "Cr A:bank 2500")
	available := ledger.Account{Path: "L:partner:4:available", Asset: usd}
	if funds := outgoing.Funds(owner); len(funds) != 1 || funds[0] != (ledger.FundsGuard{Org: testID(2), Account: available, Overdraft: money.FromUint64(70)}) {
		t.Errorf("the guards are %+v", funds)
	}
	incoming, event, err := NewSettlement(testID(3), owner, false, validDraft())
	if err != nil {
		t.Fatal(err)
	}
	wantPostings(t, event, "Dr A:bank 2500", "Cr L:partner:4:available 2500 spilling to A:partner:4:receivable")
	if funds := incoming.Funds(owner); len(funds) != 0 {
		t.Errorf("an incoming settlement must need no funds: %+v", funds)
	}
	for _, s := range []*Settlement{outgoing, incoming} {
		counters, claim := s.Counters(), s.Claim()
		if len(counters) != 1 || counters[0] != ledger.ReserveHeadroom(testID(2), usd, money.FromUint64(2500)) {
			t.Errorf("the counters are %+v", counters)
		}
		if claim.Org != testID(2) || claim.Kind != ledger.ClaimSettlement || claim.Key != "partner/4/wire 7" || string(claim.Owner) != string(s.ID[:]) {
			t.Errorf("the claim is %+v", claim)
		}
	}
	if !IsLegalTransition(ledger.Settlement, event.Name, event.From, event.To) {
		t.Errorf("%+v", event)
	}
}

func TestASettlementWithAProvider(t *testing.T) {
	terminal := &Terminal{ID: testID(9), Org: testID(2), Partner: 4, Type: PaymentTerminal, Env: money.Test}
	account := "A:provider:" + terminal.ID.String()
	for fee, want := range map[uint64][]string{
		0:    {"Dr A:bank 2500", "Cr " + account + " 2500"},
		1:    {"Dr A:bank 2499", "Dr E:provider_fees 1", "Cr " + account + " 2500"},
		2500: {"Dr E:provider_fees 2500", "Cr " + account + " 2500"},
	} {
		s, event, err := NewProviderSettlement(testID(3), terminal, money.FromUint64(fee), validDraft())
		if err != nil {
			t.Fatal(err)
		}
		wantPostings(t, event, want...)
		if s.Partner != 4 || s.Claim().Key != "terminal/"+terminal.ID.String()+"/wire 7" || len(s.Funds(nil)) != 0 || s.Counters()[0].Add != money.FromUint64(2500) {
			t.Errorf("%+v, %+v, %+v", s, s.Claim(), s.Counters())
		}
	}
	_, _, err := NewProviderSettlement(testID(3), terminal, money.FromUint64(2501), validDraft())
	wantField(t, "a fee above gross", err, "fee")
	invalid := validDraft()
	invalid.Env = money.Prod
	_, _, err = NewProviderSettlement(testID(3), terminal, money.Amount{}, invalid)
	wantField(t, "another env than the terminal's", err, "env")
	invalid = validDraft()
	invalid.Amount = money.Amount{}
	_, _, err = NewProviderSettlement(testID(3), terminal, money.Amount{}, invalid)
	wantField(t, "amount of zero", err, "gross")
	merchantTerminal := &Terminal{ID: testID(9), Org: testID(2), Partner: 4, Type: MerchantTerminal, Env: money.Test}
	if _, _, err := NewProviderSettlement(testID(3), merchantTerminal, money.Amount{}, validDraft()); err == nil || wantRefusal(t, err).Code != ledger.Conflict {
		t.Errorf("a terminal without a provider: %v", err)
	}
}

func TestSettlementsAreTheSameIfAllFieldsAreEqual(t *testing.T) {
	usd := money.Asset{Currency: "USD", Env: money.Test}
	newSettlement := func() *Settlement {
		return &Settlement{
			ID: testID(1), Org: testID(2), Partner: 4, Reference: "r", Lines: []SettlementLine{{usd, money.FromUint64(5)}}, CreatedAt: 7, Seq: 8,
		}
	}
	repeated := newSettlement()
	repeated.ID, repeated.CreatedAt, repeated.Seq = testID(9), 0, 0
	if !newSettlement().Same(repeated) {
		t.Error("a repeated settlement is not the same")
	}
	for name, change := range map[string]func(*Settlement){
		"org":       func(s *Settlement) { s.Org = testID(3) },
		"partner":   func(s *Settlement) { s.Partner = 5 },
		"terminal":  func(s *Settlement) { s.Terminal = testID(3) },
		"reference": func(s *Settlement) { s.Reference = "R" },
		"direction": func(s *Settlement) { s.Outgoing = true },
		"fee":       func(s *Settlement) { s.Fee = money.FromUint64(1) },
		"amount":    func(s *Settlement) { s.Lines[0].Amount = money.FromUint64(6) },
		"asset":     func(s *Settlement) { s.Lines[0].Asset.Env = money.Prod },
	} {
		changed := newSettlement()
		change(changed)
		if newSettlement().Same(changed) {
			t.Errorf("a settlement with another %s is the same", name)
		}
	}
}
