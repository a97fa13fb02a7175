package check_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"mizan/actors"
	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/snapshots/fixture"
)

// contractStore is a store whose first organization has contracts of every product in both
// readings: running ones, ones that have ended in each way, and ones that a timer has moved.
type contractStore struct {
	fixture.Store
	at        time.Time // the last time of its clock
	contracts map[string]ledger.ID
	screening ledger.ID
	customer  ledger.ID
	investor  ledger.ID // the person who holds certificates of the secular issues
}

// The keys of two requests: a lease's creation and its last action.
var (
	signKey = actors.Key{Scope: actors.UserKeyScope, Text: "sign", Hash: [32]byte{1}}
	moveKey = actors.Key{Scope: actors.UserKeyScope, Text: "move", Hash: [32]byte{2}}
)

// contractStores are built once for each layout of lines.
var contractStores = map[int]*struct {
	contractStore
	once sync.Once
}{fixture.Buffered: {}, fixture.Paged: {}}

// copyContractStore copies the contract store with the given layout into a directory of the
// test.
func copyContractStore(t testing.TB, layout int) *contractStore {
	t.Helper()
	template := contractStores[layout]
	template.once.Do(func() {
		w := fixture.CopyWithLayout(t, layout)
		template.Store = *w
		var err error
		template.Dir, err = os.MkdirTemp("", "mizan-contracts-")
		fixture.Must(t, err)
		fixture.Must(t, os.CopyFS(template.Dir, os.DirFS(w.Dir)))
		fixture.Must(t, os.Chmod(filepath.Join(template.Dir, "keyring"), 0o600))
		template.createContracts(t)
	})
	if template.at.IsZero() {
		t.Fatal("the contract store could not be filled")
	}
	copied := template.contractStore
	copied.Dir = filepath.Join(t.TempDir(), "data")
	fixture.Must(t, os.CopyFS(copied.Dir, os.DirFS(template.Dir)))
	fixture.Must(t, os.Chmod(filepath.Join(copied.Dir, "keyring"), 0o600))
	return &copied
}

// contractMaker creates contracts and acts on them.
type contractMaker struct {
	*fixture.Server
	store   *contractStore
	service *contractactor.Service
	of      map[string]contractactor.Create
}

// parseInput parses the members of a body.
func parseInput(t testing.TB, body string) schema.Input {
	t.Helper()
	input := make(schema.Input)
	if body != "" {
		fixture.Must(t, json.Unmarshal([]byte(body), &input))
	}
	return input
}

// create creates a contract and remembers it under the name.
func (s *contractMaker) create(name string, p *contract.Product, reading *contract.Reading, body string) {
	s.T.Helper()
	s.createWith(name, p, reading, money.Prod, actors.Key{}, body)
}

func (s *contractMaker) createWith(name string, p *contract.Product, reading *contract.Reading, env money.Env, key actors.Key, body string) {
	s.T.Helper()
	c := contractactor.Create{Org: s.store.FirstDemo.Org, Product: p, Reading: reading, Env: env, Input: parseInput(s.T, body), Key: key}
	r, err := s.service.Create(c)
	if err != nil {
		s.T.Fatalf("%s: %v", name, err)
	}
	s.of[name], s.store.contracts[name] = c, r.Record.ID
}

// do performs an action and checks the contract's new status.
func (s *contractMaker) do(name string, action contract.Action, body string, want contract.Status) {
	s.T.Helper()
	s.doWith(name, action, body, want, actors.Key{})
}

func (s *contractMaker) doWith(name string, action contract.Action, body string, want contract.Status, key actors.Key) {
	s.T.Helper()
	of := s.of[name]
	r, err := s.service.Act(contractactor.Act{
		Org: of.Org, ID: s.store.contracts[name], Product: of.Product, Reading: of.Reading, Action: action, Input: parseInput(s.T, body), Key: key,
	})
	if err != nil || r.Record.Status != want {
		s.T.Fatalf("%s: %s: %+v, %v", name, action, r.Record, err)
	}
}

// wantStatus checks a contract's status and a column after time has passed.
func (s *contractMaker) wantStatus(name string, want contract.Status, column, value string) {
	s.T.Helper()
	of := s.of[name]
	r, err := s.service.Read(of.Org, of.Product, of.Reading, s.store.contracts[name])
	fixture.Must(s.T, err)
	if got := valueOf(r.Record, column); r.Record.Status != want || got != value {
		s.T.Fatalf("%s is %s, its %s %s; want %s and %s", name, r.Record.Status, column, got, want, value)
	}
}

// columnNamed returns a column of a contract's product.
func columnNamed(r *contract.Record, name string) *schema.Column {
	for _, c := range r.Product.Columns.Columns {
		if c.Name == name {
			return c
		}
	}
	panic("there is no column " + name)
}

func valueOf(r *contract.Record, name string) string {
	return contract.FormatValue(columnNamed(r, name).Value(r.Values))
}

const (
	fatwa  = `{"approved_by":"the board","fatwa_reference":"F-7"}`
	reason = `{"reason":"enough"}`
)

func (w *contractStore) createContracts(t testing.TB) {
	h := fixture.Start(t, &w.Store)
	defer h.Close()
	w.contracts = make(map[string]ledger.ID)
	w.customer = fixture.NewID()
	s := &contractMaker{Server: h, store: w, service: contractactor.New(h.Runtime), of: make(map[string]contractactor.Create)}
	found, err := s.service.Screen(w.FirstDemo.Org, contract.ScreeningInput{Subject: "asset", Region: "AE", AssetType: "vehicle"}, actors.Key{Scope: actors.UserKeyScope, Text: "screening"})
	fixture.Must(t, err)
	w.screening = found.ID
	_, err = s.service.Screen(w.FirstDemo.Org, contract.ScreeningInput{
		Subject: "transaction", Region: "AE", Activity: "gambling", Amount: money.FromUint64(5), HasAmount: true, Debt: "12.5",
	}, actors.Key{})
	fixture.Must(t, err)
	_, err = s.service.Screen(w.FirstDemo.Org, contract.ScreeningInput{Subject: "transaction"}, actors.Key{})
	fixture.Must(t, err)
	for _, reading := range contract.Readings {
		s.createPartnerships(reading)
		s.createIssues(reading)
		s.createLeases(reading)
		s.createInvestments(reading)
		s.createSales(reading)
		s.createSafekeepings(reading)
	}
	s.createDeposits()
	h.Advance(100 * 24 * time.Hour)
	s.wantStatus("venture secular", contract.BuyingOut, "rental_paid_total", "21") // 3 × floor(9 × 69 ÷ 80)
	s.wantStatus("lease secular", contract.Active, "rent_receivable", "110")       // three rows and the advance, minus the payments
	s.wantStatus("deposit", contract.Active, "renewals", "3")
	s.actMonthsLater()
	w.at = h.Clock.Now()
}

// within returns a contract's name in a reading.
func within(name string, reading *contract.Reading) string { return name + " " + reading.Name }

// review lets a contract pass its review, if its reading requires one.
func (s *contractMaker) review(name string, reading *contract.Reading) {
	s.T.Helper()
	if reading.ReviewFirst {
		s.do(name, contract.Pass, fatwa, contract.ReviewPassed)
	}
}

func (s *contractMaker) createPartnerships(reading *contract.Reading) {
	body := fmt.Sprintf(`{"customer_id":%q,"region":"AE","partnership_type":"diminishing","total_value":"1000","bank_contribution":"800",`+
		`"customer_contribution":"200","profit_sharing_ratio":{"bank":60,"customer":40},"term_months":7,"rental_amount":"9","compliance_review":%s}`, s.store.customer, fatwa)
	open := func(name string) string {
		name = within(name, reading)
		s.create(name, contract.Partnership, reading, body)
		if reading.ReviewFirst {
			return name // the creation has completed it
		}
		s.do(name, contract.Fund, "", contract.Funded)
		s.do(name, contract.Activate, "", contract.Active)
		return name
	}
	running, bought := open("venture"), open("bought out")
	s.do(running, contract.Buyout, `{}`, contract.BuyingOut)
	s.do(bought, contract.Buyout, `{"units":3}`, contract.BuyingOut)
	s.do(bought, contract.Buyout, `{"units":4}`, contract.Completed)
	if reading.ReviewFirst {
		return
	}
	s.do(running, contract.Profit, `{"gross_profit":"101","period_end_date":"2026-09-03"}`, contract.BuyingOut)
	s.do(running, contract.Loss, `{"amount":"33"}`, contract.BuyingOut)
	lost := open("dissolved")
	s.do(lost, contract.Profit, `{"gross_profit":"0","period_end_date":"2026-09-03"}`, contract.Active)
	s.do(lost, contract.Loss, `{"amount":"5"}`, contract.Active)
	s.do(lost, contract.Dissolve, reason, contract.Dissolved)
}

func (s *contractMaker) createIssues(reading *contract.Reading) {
	one, other := fixture.NewID(), fixture.NewID()
	if reading == contract.Secular {
		s.store.investor = one
	}
	open := func(name string) string {
		name = within(name, reading)
		s.create(name, contract.Certificate, reading, `{"name":"Tower","region":"MY","backing_type":"lease","underlying_asset":"an office tower",`+
			`"underlying_asset_value":"4000","total_value":"4000","certificate_value":"10","expected_yield":5,"maturity_months":2,`+
			`"early_redemption_allowed":true,"early_redemption_penalty":"5"}`)
		s.review(name, reading)
		s.do(name, contract.Offer, `{"subscription_start":"2026-09-01","subscription_end":"2026-09-30"}`, contract.Offering)
		for _, who := range []ledger.ID{one, other, one} {
			s.do(name, contract.Subscribe, fmt.Sprintf(`{"investor_id":%q,"certificates":3}`, who), contract.Offering)
		}
		return name
	}
	open("offered")
	active := open("issue")
	s.do(active, contract.Activate, "", contract.Active)
	s.do(active, contract.Profit, `{"total_profit":"100","period_end_date":"2026-09-03"}`, contract.Active)
	early := open("redeemed early")
	s.do(early, contract.CloseSubscription, "", contract.Subscribed)
	s.do(early, contract.Activate, "", contract.Active)
	s.do(early, contract.Profit, `{"total_profit":"90"}`, contract.Active)
	s.do(early, contract.RedeemEarly, `{"redemption_date":"2026-09-03"}`, contract.Redeemed)
	lost := open("defaulted")
	s.do(lost, contract.Activate, "", contract.Active)
	s.do(lost, contract.Default, reason, contract.Defaulted)
}

func (s *contractMaker) createLeases(reading *contract.Reading) {
	body := fmt.Sprintf(`{"customer_id":%q,"region":"AE","lease_type":"operating","asset_description":"a forklift truck","asset_cost":"1000",`+
		`"lease_term_months":4,"monthly_rental":"50","advance_rental":"30","security_deposit":"70","residual_value":"100","screening_id":%q}`, s.store.customer, s.store.screening)
	open := func(name string, key actors.Key) string {
		name = within(name, reading)
		s.createWith(name, contract.Lease, reading, money.Prod, key, body)
		s.review(name, reading)
		s.do(name, contract.Acquire, `{"ownership_documents":["deed"]}`, contract.AssetAcquired)
		s.do(name, contract.Activate, "", contract.Active)
		return name
	}
	running := open("lease", actors.Key{})
	s.do(running, contract.PayRent, `{"amount":"70"}`, contract.Active) // the advance, and 40 in advance
	open("returned", actors.Key{})
	ended := within("terminated", reading)
	key := actors.Key{}
	if !reading.ReviewFirst {
		key = signKey
	}
	open("terminated", key)
	s.do(ended, contract.RecordArrears, `{"amount":"30"}`, contract.Active)
	s.do(ended, contract.BearExpense, `{"amount":"3","description":"a tyre"}`, contract.Active)
	draft := within("draft lease", reading)
	s.createWith(draft, contract.Lease, reading, money.Test, actors.Key{}, body)
	s.do(draft, contract.Submit, "", contract.UnderReview)
	refusedLease := within("refused lease", reading)
	s.create(refusedLease, contract.Lease, reading, body)
	s.do(refusedLease, contract.Submit, "", contract.UnderReview)
	s.do(refusedLease, contract.Reject, reason, contract.Refused)
}

func (s *contractMaker) createInvestments(reading *contract.Reading) {
	open := func(name string) string {
		name = within(name, reading)
		s.create(name, contract.Managed, reading, fmt.Sprintf(`{"customer_id":%q,"region":"SA","currency":"SAR","capital_amount":"500",`+
			`"business_type":"trade","profit_sharing_ratio":{"bank":70,"customer":30},"term_months":6}`, s.store.customer))
		s.review(name, reading)
		s.do(name, contract.Fund, "", contract.Funded)
		s.do(name, contract.Activate, "", contract.Active)
		s.do(name, contract.Profit, `{"gross_profit":"33","period_end_date":"2026-09-03"}`, contract.Active)
		return name
	}
	open("investment")
	s.do(open("completed"), contract.Complete, `{"final_value":"600"}`, contract.Completed)
	s.do(open("liquidated"), contract.Loss, `{"amount":"999"}`, contract.Liquidated)
}

func (s *contractMaker) createSales(reading *contract.Reading) {
	body := fmt.Sprintf(`{"customer_id":%q,"region":"AE","currency":"AED","asset_description":"a delivery van","asset_cost":"1000",`+
		`"markup_rate":25,"instalments":3,"down_payment":"100","earnest_deposit":"50"}`, s.store.customer)
	open := func(name string) string {
		name = within(name, reading)
		s.create(name, contract.InstalmentSale, reading, body)
		s.review(name, reading)
		s.do(name, contract.OrderAsset, `{"supplier_deposit":"40"}`, contract.AssetOrdered)
		s.do(name, contract.PurchaseAsset, `{"ownership_documents":["invoice"],"actual_cost":"990"}`, contract.AssetPurchased)
		return name
	}
	sell := func(name string) string {
		name = open(name)
		s.do(name, contract.DeliverAsset, "", contract.AssetDelivered)
		s.do(name, contract.Activate, "", contract.Active)
		s.do(name, contract.RecordPayment, `{"amount":"77"}`, contract.Active)
		s.do(name, contract.RecordDelinquency, `{"amount":"20"}`, contract.Active)
		return name
	}
	open("bought")
	sell("sale")
	s.do(sell("paid off"), contract.RecordPayment, `{"amount":"1010"}`, contract.Completed) // 1237 − 150 − 77
	if reading.ReviewFirst {
		return
	}
	s.do(open("cancelled"), contract.Cancel, "", contract.Cancelled)
	s.do(sell("settled early"), contract.SettleEarly, `{"rebate":"12"}`, contract.Completed)
}

func (s *contractMaker) createSafekeepings(reading *contract.Reading) {
	open := func(name, custody string) string {
		name = within(name, reading)
		body := fmt.Sprintf(`{"customer_id":%q,"region":"BH","custody_type":%q,"initial_amount":"1000","compliance_review":%s}`, s.store.customer, custody, fatwa)
		s.create(name, contract.Safekeeping, reading, body)
		if !reading.ReviewFirst {
			s.do(name, contract.Activate, "", contract.Active)
		}
		return name
	}
	s.do(open("safe", "guaranteed"), contract.GrantHibah, `{"amount":"7","granted_by":"the board"}`, contract.Active)
	trust := open("trust", "trust")
	if reading.ReviewFirst {
		return
	}
	s.do(trust, contract.PutIn, `{"amount":"10"}`, contract.Active)
	s.do(trust, contract.Withdraw, `{"amount":"4"}`, contract.Active)
	s.do(open("emptied", "trust"), contract.Close, `{"closed_by":"teller 7"}`, contract.Closed)
}

func (s *contractMaker) createDeposits() {
	open := func(name string) {
		s.create(name, contract.Deposit, contract.Secular, fmt.Sprintf(`{"customer_id":%q,"region":"AE","currency":"USD","initial_amount":"1000",`+
			`"term_months":1,"profit_sharing_ratio":{"bank":50,"customer":50},"early_withdrawal_allowed":true,`+
			`"early_withdrawal_penalty_percent":50,"auto_renewal":true}`, s.store.customer))
		s.do(name, contract.Activate, "", contract.Active)
		s.do(name, contract.Profit, `{"gross_profit":"31"}`, contract.Active)
		s.do(name, contract.Loss, `{"amount":"9"}`, contract.Active)
	}
	open("deposit")
	open("withdrawn")
	s.do("withdrawn", contract.Withdraw, `{"closed_by":"teller 7"}`, contract.Withdrawn)
	open("closed")
	s.do("closed", contract.Withdraw, `{"closed_by":"teller 7"}`, contract.Withdrawn)
	s.do("closed", contract.Close, `{"closed_by":"teller 7"}`, contract.Closed)
}

// actMonthsLater performs the actions that come months later.
func (s *contractMaker) actMonthsLater() {
	for _, reading := range contract.Readings {
		s.do(within("returned", reading), contract.ReturnAsset, "", contract.Completed)
		s.do(within("issue", reading), contract.Mature, "", contract.Matured)
	}
	s.do("issue religious", contract.Redeem, `{"redemption_date":"2026-12-01"}`, contract.Redeemed)
	s.do("terminated religious", contract.Terminate, reason, contract.Terminated)
	s.do("terminated secular", contract.Terminate, reason, contract.Terminated)
	s.doWith("terminated secular", contract.PayRent, `{"amount":"5"}`, contract.Terminated, moveKey)
}
