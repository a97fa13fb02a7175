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

// contractStore is a store whose first organization has contracts of every product in both readings (religious and
// secular): contracts that run, contracts that have ended in each way, and contracts that a timer has changed.
type contractStore struct {
	fixture.Store
	at        time.Time            // the time of the last action on the contracts
	contracts map[string]ledger.ID // by the names that createContracts gives them
	screening ledger.ID            // the screening (a compliance check) that leases name
	customer  ledger.ID            // the customer of all contracts that have one
	investor  ledger.ID            // the person who holds certificates of the secular issues
}

// Idempotency keys of two requests about one lease: its creation, and the last action on it.
var (
	signKey = actors.Key{Scope: actors.UserKeyScope, Text: "sign", Hash: [32]byte{1}}
	moveKey = actors.Key{Scope: actors.UserKeyScope, Text: "move", Hash: [32]byte{2}}
)

// contractStores has a contract store for each layout of lines (in page buffers or on pages). It is built when a
// test first needs it.
var contractStores = map[int]*struct {
	contractStore
	once sync.Once
}{fixture.Buffered: {}, fixture.Paged: {}}

// copyContractStore copies the contract store with the given layout into a directory of the test.
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
	storeCopy := template.contractStore
	storeCopy.Dir = filepath.Join(t.TempDir(), "data")
	fixture.Must(t, os.CopyFS(storeCopy.Dir, os.DirFS(template.Dir)))
	fixture.Must(t, os.Chmod(filepath.Join(storeCopy.Dir, "keyring"), 0o600))
	return &storeCopy
}

// contractMaker creates contracts and acts on them.
type contractMaker struct {
	*fixture.Server
	store     *contractStore
	service   *contractactor.Service
	creations map[string]contractactor.Create // the request that created each contract, by the contract's name
}

// parseInput parses the members of a request's body.
func parseInput(t testing.TB, body string) schema.Input {
	t.Helper()
	input := make(schema.Input)
	if body != "" {
		fixture.Must(t, json.Unmarshal([]byte(body), &input))
	}
	return input
}

// create creates a contract without an idempotency key, and stores the contract's id and the request under the name.
func (s *contractMaker) create(name string, p *contract.Product, reading *contract.Reading, body string) {
	s.T.Helper()
	s.createWithKey(name, p, reading, money.Prod, actors.Key{}, body)
}

func (s *contractMaker) createWithKey(name string, p *contract.Product, reading *contract.Reading, env money.Env, key actors.Key, body string) {
	s.T.Helper()
	c := contractactor.Create{Author: ledger.ByAdminToken.Author(), Org: s.store.FirstDemo.Org, Product: p, Reading: reading, Env: env, Input: parseInput(s.T, body), Key: key}
	r, err := s.service.Create(c)
	if err != nil {
		s.T.Fatalf("%s: %v", name, err)
	}
	s.creations[name], s.store.contracts[name] = c, r.Record.ID
}

// act performs an action and checks the contract's new status.
func (s *contractMaker) act(name string, action contract.Action, body string, want contract.Status) {
	s.T.Helper()
	s.actWithKey(name, action, body, want, actors.Key{})
}

func (s *contractMaker) actWithKey(name string, action contract.Action, body string, want contract.Status, key actors.Key) {
	s.T.Helper()
	c := s.creations[name]
	r, err := s.service.Act(contractactor.ActionRequest{
		Author: ledger.ByAdminToken.Author(),
		Org:    c.Org, ID: s.store.contracts[name], Product: c.Product, Reading: c.Reading, Action: action, Input: parseInput(s.T, body), Key: key,
	})
	if err != nil || r.Record.Status != want {
		s.T.Fatalf("%s: %s: %+v, %v", name, action, r.Record, err)
	}
}

// wantStatus checks a contract's status and the value of a column.
func (s *contractMaker) wantStatus(name string, want contract.Status, column, value string) {
	s.T.Helper()
	c := s.creations[name]
	r, err := s.service.Read(c.Org, c.Product, c.Reading, s.store.contracts[name])
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

// Bodies of requests.
const (
	fatwa  = `{"approved_by":"the board","fatwa_reference":"F-7"}`
	reason = `{"reason":"enough"}`
)

// createContracts creates the contracts and performs actions on them, and lets time pass.
func (w *contractStore) createContracts(t testing.TB) {
	server := fixture.Start(t, &w.Store)
	defer server.Close()
	w.contracts = make(map[string]ledger.ID)
	w.customer = fixture.NewID()
	maker := &contractMaker{Server: server, store: w, service: contractactor.New(server.Runtime), creations: make(map[string]contractactor.Create)}
	screening, err := maker.service.Screen(w.FirstDemo.Org, contract.ScreeningInput{Subject: "asset", Region: "AE", AssetType: "vehicle"}, actors.Key{Scope: actors.UserKeyScope, Text: "screening"}, ledger.ByAdminToken.Author())
	fixture.Must(t, err)
	w.screening = screening.ID
	_, err = maker.service.Screen(w.FirstDemo.Org, contract.ScreeningInput{
		Subject: "transaction", Region: "AE", Activity: "gambling", Amount: money.FromUint64(5), HasAmount: true, Debt: "12.5",
	}, actors.Key{}, ledger.ByAdminToken.Author())
	fixture.Must(t, err)
	_, err = maker.service.Screen(w.FirstDemo.Org, contract.ScreeningInput{Subject: "transaction"}, actors.Key{}, ledger.ByAdminToken.Author())
	fixture.Must(t, err)
	for _, reading := range contract.Readings {
		maker.createPartnerships(reading)
		maker.createIssues(reading)
		maker.createLeases(reading)
		maker.createInvestments(reading)
		maker.createSales(reading)
		maker.createSafekeepings(reading)
	}
	maker.createDeposits()
	server.Advance(100 * 24 * time.Hour)
	maker.wantStatus("venture secular", contract.BuyingOut, "rental_paid_total", "21") // three months' rent: 3 × floor(9 × 69 ÷ 80)
	maker.wantStatus("lease secular", contract.Active, "rent_receivable", "110")       // three months' rent and the advance, minus the payment
	maker.wantStatus("deposit", contract.Active, "renewals", "3")
	maker.actMonthsLater()
	w.at = server.Clock.Now()
}

// nameInReading returns the name of a contract in a reading, under which the contract store has it.
func nameInReading(name string, reading *contract.Reading) string { return name + " " + reading.Name }

// review lets a contract pass its review, if its reading requires one.
func (s *contractMaker) review(name string, reading *contract.Reading) {
	s.T.Helper()
	if reading.ReviewFirst {
		s.act(name, contract.Approve, fatwa, contract.ReviewPassed)
	}
}

func (s *contractMaker) createPartnerships(reading *contract.Reading) {
	body := fmt.Sprintf(`{"customer_id":%q,"region":"AE","partnership_type":"diminishing","total_value":"1000","bank_contribution":"800",`+
		`"customer_contribution":"200","profit_sharing_ratio":{"bank":60,"customer":40},"term_months":7,"rental_amount":"9","compliance_review":%s}`, s.store.customer, fatwa)
	open := func(name string) string {
		name = nameInReading(name, reading)
		s.create(name, contract.Partnership, reading, body)
		if reading.ReviewFirst {
			return name // the review at the creation has made the contract active
		}
		s.act(name, contract.Fund, "", contract.Funded)
		s.act(name, contract.Activate, "", contract.Active)
		return name
	}
	venture, boughtOut := open("venture"), open("bought out")
	s.act(venture, contract.Buyout, `{}`, contract.BuyingOut)
	s.act(boughtOut, contract.Buyout, `{"units":3}`, contract.BuyingOut)
	s.act(boughtOut, contract.Buyout, `{"units":4}`, contract.Completed)
	if reading.ReviewFirst {
		return
	}
	s.act(venture, contract.Profit, `{"gross_profit":"101","period_end_date":"2026-09-03"}`, contract.BuyingOut)
	s.act(venture, contract.Loss, `{"amount":"33"}`, contract.BuyingOut)
	dissolved := open("dissolved")
	s.act(dissolved, contract.Profit, `{"gross_profit":"0","period_end_date":"2026-09-03"}`, contract.Active)
	s.act(dissolved, contract.Loss, `{"amount":"5"}`, contract.Active)
	s.act(dissolved, contract.Dissolve, reason, contract.Dissolved)
}

func (s *contractMaker) createIssues(reading *contract.Reading) {
	firstInvestor, secondInvestor := fixture.NewID(), fixture.NewID()
	if reading == contract.Secular {
		s.store.investor = firstInvestor
	}
	open := func(name string) string {
		name = nameInReading(name, reading)
		s.create(name, contract.Certificate, reading, `{"name":"Tower","region":"MY","backing_type":"lease","underlying_asset":"an office tower",`+
			`"underlying_asset_value":"4000","total_value":"4000","certificate_value":"10","expected_yield":5,"maturity_months":2,`+
			`"early_redemption_allowed":true,"early_redemption_penalty":"5"}`)
		s.review(name, reading)
		s.act(name, contract.Offer, `{"subscription_start":"2026-09-01","subscription_end":"2026-09-30"}`, contract.Offering)
		for _, investor := range []ledger.ID{firstInvestor, secondInvestor, firstInvestor} {
			s.act(name, contract.Subscribe, fmt.Sprintf(`{"investor_id":%q,"certificates":3}`, investor), contract.Offering)
		}
		return name
	}
	open("offered")
	issue := open("issue")
	s.act(issue, contract.Activate, "", contract.Active)
	s.act(issue, contract.Profit, `{"total_profit":"100","period_end_date":"2026-09-03"}`, contract.Active)
	redeemedEarly := open("redeemed early")
	s.act(redeemedEarly, contract.CloseSubscription, "", contract.Subscribed)
	s.act(redeemedEarly, contract.Activate, "", contract.Active)
	s.act(redeemedEarly, contract.Profit, `{"total_profit":"90"}`, contract.Active)
	s.act(redeemedEarly, contract.RedeemEarly, `{"redemption_date":"2026-09-03"}`, contract.Redeemed)
	defaulted := open("defaulted")
	s.act(defaulted, contract.Activate, "", contract.Active)
	s.act(defaulted, contract.Default, reason, contract.Defaulted)
}

func (s *contractMaker) createLeases(reading *contract.Reading) {
	body := fmt.Sprintf(`{"customer_id":%q,"region":"AE","lease_type":"operating","asset_description":"a forklift truck","asset_cost":"1000",`+
		`"lease_term_months":4,"monthly_rental":"50","advance_rental":"30","security_deposit":"70","residual_value":"100","screening_id":%q}`, s.store.customer, s.store.screening)
	open := func(name string, key actors.Key) string {
		name = nameInReading(name, reading)
		s.createWithKey(name, contract.Lease, reading, money.Prod, key, body)
		s.review(name, reading)
		s.act(name, contract.Acquire, `{"ownership_documents":["deed"]}`, contract.AssetAcquired)
		s.act(name, contract.Activate, "", contract.Active)
		return name
	}
	lease := open("lease", actors.Key{})
	s.act(lease, contract.PayRent, `{"amount":"70"}`, contract.Active) // the advance rental of 30, and 40 of later rent
	open("returned", actors.Key{})
	terminated := nameInReading("terminated", reading)
	key := actors.Key{}
	if !reading.ReviewFirst {
		key = signKey
	}
	open("terminated", key)
	s.act(terminated, contract.RecordArrears, `{"amount":"30"}`, contract.Active)
	s.act(terminated, contract.BearExpense, `{"amount":"3","description":"a tyre"}`, contract.Active)
	draftLease := nameInReading("draft lease", reading)
	s.createWithKey(draftLease, contract.Lease, reading, money.Test, actors.Key{}, body)
	s.act(draftLease, contract.Submit, "", contract.UnderReview)
	refusedLease := nameInReading("refused lease", reading)
	s.create(refusedLease, contract.Lease, reading, body)
	s.act(refusedLease, contract.Submit, "", contract.UnderReview)
	s.act(refusedLease, contract.Reject, reason, contract.Refused)
}

func (s *contractMaker) createInvestments(reading *contract.Reading) {
	open := func(name string) string {
		name = nameInReading(name, reading)
		s.create(name, contract.Managed, reading, fmt.Sprintf(`{"customer_id":%q,"region":"SA","currency":"SAR","capital_amount":"500",`+
			`"business_type":"trade","profit_sharing_ratio":{"bank":70,"customer":30},"term_months":6}`, s.store.customer))
		s.review(name, reading)
		s.act(name, contract.Fund, "", contract.Funded)
		s.act(name, contract.Activate, "", contract.Active)
		s.act(name, contract.Profit, `{"gross_profit":"33","period_end_date":"2026-09-03"}`, contract.Active)
		return name
	}
	open("investment")
	s.act(open("completed"), contract.Complete, `{"final_value":"600"}`, contract.Completed)
	s.act(open("liquidated"), contract.Loss, `{"amount":"999"}`, contract.Liquidated)
}

func (s *contractMaker) createSales(reading *contract.Reading) {
	body := fmt.Sprintf(`{"customer_id":%q,"region":"AE","currency":"AED","asset_description":"a delivery van","asset_cost":"1000",`+
		`"markup_rate":25,"instalments":3,"down_payment":"100","earnest_deposit":"50"}`, s.store.customer)
	open := func(name string) string {
		name = nameInReading(name, reading)
		s.create(name, contract.InstalmentSale, reading, body)
		s.review(name, reading)
		s.act(name, contract.OrderAsset, `{"supplier_deposit":"40"}`, contract.AssetOrdered)
		s.act(name, contract.PurchaseAsset, `{"ownership_documents":["invoice"],"actual_cost":"990"}`, contract.AssetPurchased)
		return name
	}
	openSale := func(name string) string {
		name = open(name)
		s.act(name, contract.DeliverAsset, "", contract.AssetDelivered)
		s.act(name, contract.Activate, "", contract.Active)
		s.act(name, contract.RecordPayment, `{"amount":"77"}`, contract.Active)
		s.act(name, contract.RecordDelinquency, `{"amount":"20"}`, contract.Active)
		return name
	}
	open("bought")
	openSale("sale")
	s.act(openSale("paid off"), contract.RecordPayment, `{"amount":"1010"}`, contract.Completed) // the price 1237 less 150 and 77 that were paid before
	if reading.ReviewFirst {
		return
	}
	s.act(open("cancelled"), contract.Cancel, "", contract.Cancelled)
	s.act(openSale("settled early"), contract.SettleEarly, `{"rebate":"12"}`, contract.Completed)
}

func (s *contractMaker) createSafekeepings(reading *contract.Reading) {
	open := func(name, custody string) string {
		name = nameInReading(name, reading)
		body := fmt.Sprintf(`{"customer_id":%q,"region":"BH","custody_type":%q,"initial_amount":"1000","compliance_review":%s}`, s.store.customer, custody, fatwa)
		s.create(name, contract.Safekeeping, reading, body)
		if !reading.ReviewFirst {
			s.act(name, contract.Activate, "", contract.Active)
		}
		return name
	}
	s.act(open("safe", "guaranteed"), contract.GrantHibah, `{"amount":"7","granted_by":"the board"}`, contract.Active)
	trust := open("trust", "trust")
	if reading.ReviewFirst {
		return
	}
	s.act(trust, contract.DepositMoney, `{"amount":"10"}`, contract.Active)
	s.act(trust, contract.Withdraw, `{"amount":"4"}`, contract.Active)
	s.act(open("emptied", "trust"), contract.Close, `{"closed_by":"teller 7"}`, contract.Closed)
}

func (s *contractMaker) createDeposits() {
	open := func(name string) {
		s.create(name, contract.Deposit, contract.Secular, fmt.Sprintf(`{"customer_id":%q,"region":"AE","currency":"USD","initial_amount":"1000",`+
			`"term_months":1,"profit_sharing_ratio":{"bank":50,"customer":50},"early_withdrawal_allowed":true,`+
			`"early_withdrawal_penalty_percent":50,"auto_renewal":true}`, s.store.customer))
		s.act(name, contract.Activate, "", contract.Active)
		s.act(name, contract.Profit, `{"gross_profit":"31"}`, contract.Active)
		s.act(name, contract.Loss, `{"amount":"9"}`, contract.Active)
	}
	open("deposit")
	open("withdrawn")
	s.act("withdrawn", contract.Withdraw, `{"closed_by":"teller 7"}`, contract.Withdrawn)
	open("closed")
	s.act("closed", contract.Withdraw, `{"closed_by":"teller 7"}`, contract.Withdrawn)
	s.act("closed", contract.Close, `{"closed_by":"teller 7"}`, contract.Closed)
}

// actMonthsLater performs the actions that are possible only after months have passed.
func (s *contractMaker) actMonthsLater() {
	for _, reading := range contract.Readings {
		s.act(nameInReading("returned", reading), contract.ReturnAsset, "", contract.Completed)
		s.act(nameInReading("issue", reading), contract.Mature, "", contract.Matured)
	}
	s.act("issue religious", contract.Redeem, `{"redemption_date":"2026-12-01"}`, contract.Redeemed)
	s.act("terminated religious", contract.Terminate, reason, contract.Terminated)
	s.act("terminated secular", contract.Terminate, reason, contract.Terminated)
	s.actWithKey("terminated secular", contract.PayRent, `{"amount":"5"}`, contract.Terminated, moveKey)
}
