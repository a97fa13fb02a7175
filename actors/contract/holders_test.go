package contract

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
	"mizan/posting/balances"
)

// manyHolders is so large that the holders' rows do not fit into one group of Changes, which the writer stores together.
const manyHolders = 1_600

// holdersFixture is an issue of certificates with many holders over a real journal.
type holdersFixture struct {
	*fixture
	reading          *contract.Reading
	id               ledger.ID
	certificatesOf   map[ledger.ID]int64
	certificatesSold int64
}

const issueBody = `{"name":"Tower","region":"MY","backing_type":"lease","underlying_asset":"an office tower","underlying_asset_value":"4000000",
	"total_value":"4000000","certificate_value":"100","expected_yield":5,"maturity_months":1,"subscription_start":"2026-09-01","subscription_end":"2026-09-30",
	"early_redemption_allowed":true,"early_redemption_penalty":"77777"}`

// filledIssues caches an issue with all its subscribers for each reading (secular or religious). Each test begins
// with a copy.
var filledIssues = make(map[*contract.Reading]*filledIssue)

type filledIssue struct {
	holdersFixture
	image *testkit.Image
}

// openIssue opens a copy of the issue with many subscribers in a reading.
func openIssue(t *testing.T, reading *contract.Reading) *holdersFixture {
	t.Helper()
	filled := filledIssues[reading]
	if filled == nil {
		filled = fillIssue(t, reading)
		filledIssues[reading] = filled
	}
	issue := filled.holdersFixture
	issue.fixture = &fixture{World: filled.image.World(t), t: t, org: filled.org}
	issue.start()
	return &issue
}

// fillIssue makes an issue and its subscribers.
func fillIssue(t *testing.T, reading *contract.Reading) *filledIssue {
	t.Helper()
	random := testseed.Random(t)
	issue := holdersFixture{fixture: openFixture(t), reading: reading, certificatesOf: make(map[ledger.ID]int64)}
	created, err := issue.service.Create(Create{Author: ledger.ByAdminToken.Author(), Org: issue.org, Product: contract.Certificate, Reading: reading, Env: money.Prod, Input: parseInput(t, issueBody)})
	if err != nil {
		t.Fatal(err)
	}
	issue.id = created.Record.ID
	if reading.ReviewFirst {
		issue.mustRequest(contract.Approve, `{"approved_by":"the board","fatwa_reference":"F-7"}`)
	}
	issue.mustRequest(contract.Offer, "")
	for range manyHolders {
		investor := uuid.New()
		for range 1 + random.IntN(8)/7 {
			n := 1 + random.Int64N(9)
			issue.mustRequest(contract.Subscribe, fmt.Sprintf(`{"investor_id":%q,"certificates":%d}`, investor, n))
			issue.certificatesOf[investor] += n
			issue.certificatesSold += n
		}
	}
	issue.Runtime.Quiesce()
	issue.Close()
	return &filledIssue{issue, issue.Image()}
}

func (c *holdersFixture) request(action contract.Action, body, key string) (Result, error) {
	a := ActionRequest{Author: ledger.ByAdminToken.Author(), Org: c.org, ID: c.id, Product: contract.Certificate, Reading: c.reading, Action: action, Input: parseInput(c.t, body)}
	if key != "" {
		a.Key = actors.Key{Scope: actors.UserKeyScope, Text: key, Hash: [32]byte{1}}
	}
	return c.service.Act(a)
}

func (c *holdersFixture) mustRequest(action contract.Action, body string) Result {
	c.t.Helper()
	r, err := c.request(action, body, "")
	if err != nil {
		c.t.Fatalf("%s: %v", action, err)
	}
	return r
}

// copyIssue copies the issue to a directory of its own, with no service running.
func (c *holdersFixture) copyIssue(t *testing.T) *holdersFixture {
	t.Helper()
	copied := *c
	copied.fixture = &fixture{World: c.Image().World(t), t: t, org: c.org}
	return &copied
}

// commitWithoutActor makes an action and its first batches durable without the actor, as they would be after a kill
// between two batches.
func (c *holdersFixture) commitWithoutActor(action contract.Action, body string, batches int64) {
	c.t.Helper()
	c.OpenJournal()
	for batch := int64(-1); batch < batches; batch++ { // -1 stands for the action itself, before its first batch
		view := c.Journal.View()
		loaded, _, err := Load(view, c.org, c.id)
		if err != nil {
			c.t.Fatal(err)
		}
		requested := contract.Batch
		if batch < 0 {
			requested = action
		}
		loaded.Record.Register, err = LoadRegister(view, c.org, c.id, loaded.Record.RegisterQuery(requested, parseInput(c.t, body)))
		view.Close()
		if err != nil {
			c.t.Fatal(err)
		}
		var d contract.Decision
		if now := ledger.MicrosOf(c.Clock.Now()); batch < 0 {
			d, err = loaded.Record.Act(action, parseInput(c.t, body), now)
		} else {
			d, _ = loaded.Record.OnDue(now)
		}
		if err != nil {
			c.t.Fatal(err)
		}
		c.MustSubmit(changeOf(c.org, &d, loaded.Header.Version, ledger.BySystem.Author()))
	}
	c.Close()
}

// balances returns the balances of all accounts that are not zero, each on the account's normal side.
func (c *holdersFixture) balances() map[ledger.Path]string {
	c.t.Helper()
	view := c.Journal.View()
	defer view.Close()
	all := make(map[ledger.Path]string)
	err := new(balances.Reader).TrialBalance(view, c.org, balances.Query{Env: money.Prod, At: ledger.MicrosOf(c.Clock.Now()) + 60_000_000}, func(a ledger.Account, t *ledger.Totals) (bool, error) {
		if b := t.Balance(a.Path.NormalSide()); !b.IsZero() {
			all[a.Path] = b.String()
		}
		return true, nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

// wantBalances compares the balances of all accounts. A holder of n certificates must have payout(n) on the current
// account, and 100 per certificate on an account below holdersPath; if holdersPath is empty, no such account may have
// a balance. All other balances must be otherBalances, in whose paths {c} stands for the contract's id.
func (c *holdersFixture) wantBalances(holdersPath string, payout func(n int64) int64, otherBalances map[string]int64) {
	c.t.Helper()
	want := make(map[ledger.Path]string)
	for holder, n := range c.certificatesOf {
		if holdersPath != "" {
			want[ledger.Path(fmt.Sprintf("%s:%v:%v", holdersPath, c.id, holder))] = fmt.Sprint(100 * n)
		}
		if sum := payout(n); sum > 0 {
			want[ledger.Path(fmt.Sprintf("L:customer:%v:current", holder))] = fmt.Sprint(sum)
		}
	}
	for path, sum := range otherBalances {
		if sum != 0 {
			want[ledger.Path(strings.ReplaceAll(path, "{c}", c.id.String()))] = fmt.Sprint(sum)
		}
	}
	got := c.balances()
	for path, sum := range want {
		if got[path] != sum {
			c.t.Fatalf("%s holds %q; want %s", path, got[path], sum)
		}
		delete(got, path)
	}
	for path, sum := range got {
		c.t.Fatalf("%s holds %s; want nothing", path, sum)
	}
}

func (c *holdersFixture) progress() (contract.Progress, bool) {
	c.t.Helper()
	r, err := c.service.Read(c.org, contract.Certificate, c.reading, c.id)
	if err != nil {
		c.t.Fatal(err)
	}
	return r.Record.Progress()
}

// After a stop between any two batches of an action, the next start continues the action: no holder is left out,
// and none is paid twice.
func TestActionContinuesAfterAStopBetweenAnyTwoBatches(t *testing.T) {
	base := openIssue(t, contract.Religious)
	faceValue := 100 * base.certificatesSold
	base.Runtime.Quiesce()
	offeredIssue := base.copyIssue(t)
	base.mustRequest(contract.Activate, "")
	base.Runtime.Quiesce()
	activeIssue := base.copyIssue(t)
	penalty := func(n int64) int64 { return min(77777*n/base.certificatesSold, 100*n) }
	penalties := int64(0)
	for _, n := range base.certificatesOf {
		penalties += penalty(n)
	}
	for _, step := range []struct {
		issue         *holdersFixture
		action        contract.Action
		body          string
		holdersPath   string
		payout        func(n int64) int64
		otherBalances map[string]int64
	}{
		{offeredIssue, contract.Activate, "", "Q:holders", func(int64) int64 { return 0 }, map[string]int64{"A:underlying:{c}": faceValue}},
		{activeIssue, contract.Profit, fmt.Sprintf(`{"total_profit":%d}`, 3*base.certificatesSold+5), "Q:holders", func(n int64) int64 { return 3 * n },
			map[string]int64{"A:underlying:{c}": faceValue, "A:cash:MY": 3*base.certificatesSold + 5, "L:undistributed:{c}": 5}},
		{activeIssue, contract.RedeemEarly, `{"redemption_date":"2026-09-03"}`, "", func(n int64) int64 { return 100*n - penalty(n) },
			map[string]int64{"A:cash:MY": faceValue, "L:charity": penalties}},
		{activeIssue, contract.Default, `{"reason":"enough"}`, "Q:holders_defaulted", func(int64) int64 { return 0 }, map[string]int64{"A:underlying_impaired:{c}": faceValue}},
	} {
		batches := contract.Batches(step.action, int64(len(base.certificatesOf)))
		if batches < 7 {
			t.Fatalf("%s takes %d batches", step.action, batches)
		}
		tryEveryFourth := testing.Short() || step.action == contract.RedeemEarly || step.action == contract.Default
		for n := range batches + 1 {
			if tryEveryFourth && n%4 != 0 && n != batches {
				continue // only a full run, and only for activation and profit, tries a stop after every batch
			}
			c := step.issue.copyIssue(t)
			c.commitWithoutActor(step.action, step.body, n)
			c.start()
			c.Runtime.Quiesce()
			if p, running := c.progress(); running {
				t.Fatalf("%s after a stop at batch %d is still at %+v", step.action, n, p)
			}
			c.wantBalances(step.holdersPath, step.payout, step.otherBalances)
			c.Close()
		}
	}
}

// Requests for an issue wait while an action is carried out in batches. Reads do not wait, and show
// the action's progress.
func TestRequestsDuringBatchesWait(t *testing.T) {
	issue := openIssue(t, contract.Secular)
	answer := issue.mustRequest(contract.Activate, "")
	if p, running := answer.Record.Progress(); !running || p.Doing != contract.Activate || p.Done != 0 || p.Total != manyHolders || answer.Record.Status != contract.Active {
		t.Fatalf("the answer is %s with %+v", answer.Record.Status, p)
	}
	profitAnswer, err := issue.request(contract.Profit, fmt.Sprintf(`{"total_profit":"%d"}`, 2*issue.certificatesSold), "profit") // requested while the activation is carried out
	if err != nil {
		t.Fatal(err)
	}
	if p, running := profitAnswer.Record.Progress(); !running || p.Doing != contract.Profit || p.Done != 0 {
		t.Fatalf("the profit's answer has %+v", p)
	}
	if _, err = issue.request(contract.Subscribe, fmt.Sprintf(`{"investor_id":%q,"certificates":1}`, uuid.New()), ""); err == nil {
		t.Error("an active issue takes a subscription")
	}
	issue.mustRequest(contract.RedeemEarly, `{"redemption_date":"2026-09-03"}`)
	if _, err := issue.request(contract.Profit, `{"total_profit":"1"}`, ""); !ledger.IsRefusal(err, ledger.Conflict) {
		t.Errorf("a redeemed issue has a profit: %v", err)
	}
	issue.Runtime.Quiesce()
	repeated, err := issue.request(contract.Profit, fmt.Sprintf(`{"total_profit":"%d"}`, 2*issue.certificatesSold), "profit")
	if err != nil || !repeated.Replay {
		t.Fatal(repeated.Replay, err)
	}
	if string(contract.AppendRecord(nil, repeated.Record)) != string(contract.AppendRecord(nil, profitAnswer.Record)) {
		t.Error("the repeated request is answered with another contract")
	}
	firstRows, repeatedRows := column(t, profitAnswer.Record, "subscriptions").([]schema.Row), column(t, repeated.Record, "subscriptions").([]schema.Row)
	if len(firstRows) != contract.ShownSubscriptions || fmt.Sprint(firstRows) != fmt.Sprint(repeatedRows) {
		t.Errorf("%d and %d subscriptions are shown", len(firstRows), len(repeatedRows))
	}
	penalties := int64(0)
	for _, n := range issue.certificatesOf {
		penalties += min(77777*n/issue.certificatesSold, 100*n)
	}
	issue.wantBalances("", func(n int64) int64 { return 102*n - min(77777*n/issue.certificatesSold, 100*n) }, map[string]int64{"A:cash:MY": 100*issue.certificatesSold + 2*issue.certificatesSold, "I:penalty": penalties})
	view := issue.Journal.View()
	defer view.Close()
	if n, err := view.Counter(issue.org, ledger.BatchedActionsKey, ""); err != nil || !n.IsZero() {
		t.Errorf("%v actions are under way (%v)", n, err)
	}
}

// No month is closed while batches are in progress, even if no actor is running to continue them.
func TestNoMonthIsClosedDuringBatches(t *testing.T) {
	issue := openIssue(t, contract.Secular)
	issue.Runtime.Quiesce()
	interrupted := issue.copyIssue(t)
	interrupted.commitWithoutActor(contract.Activate, "", 2)
	interrupted.OpenJournal()
	receipts := make(chan posting.Receipt, 1)
	id := uuid.New()
	interrupted.Journal.Submit(&posting.Change{Author: ledger.BySystem.Author(), Counters: []ledger.CounterGuard{ledger.RefuseDuringBatches(issue.org)}, Steps: []posting.Step{{
		Org: issue.org, Source: ledger.Source{Kind: ledger.Reply, ID: id}, Record: []byte{1}, Events: []ledger.Event{{Name: "x", To: "y"}},
	}}}, func(r posting.Receipt) { receipts <- r })
	var refusal *ledger.Refusal
	if r := <-receipts; !errors.As(r.Err, &refusal) || refusal.Code != ledger.Conflict || refusal.Detail != ledger.BatchedActionsKey {
		t.Errorf("%v", r.Err)
	}
	if n := interrupted.Journal.Due.Overdue(issue.org, 0, ledger.MicrosOf(issue.Clock.Now())+1_000_000); n != 1 {
		t.Errorf("%d contracts wait; want 1", n)
	}
}
