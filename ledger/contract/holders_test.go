package contract

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
)

// issueWithHolders is an issue with many holders, and the balances that the test itself has computed for the issue's
// accounts.
type issueWithHolders struct {
	*contractFixture
	face, penalty          int64
	certificates           map[ledger.ID]int64
	sold                   int64
	currentBalances        map[ledger.ID]*big.Int // the balance of each holder's current account
	charity, undistributed *big.Int               // sums of indivisible remainders: given to charity, and not yet distributed
	penalties              *big.Int               // the sum of the penalties for early redemption
}

func newIssueWithHolders(t *testing.T, random *rand.Rand, reading *Reading, holders int) *issueWithHolders {
	t.Helper()
	issue := &issueWithHolders{face: random.Int64N(90) + 1, penalty: random.Int64N(20_000), certificates: map[ledger.ID]int64{}, currentBalances: map[ledger.ID]*big.Int{}, charity: new(big.Int), undistributed: new(big.Int), penalties: new(big.Int)}
	total := int64(holders) * 60
	issue.contractFixture = openContract(t, Certificate, reading, withChanges(issueBody(), "certificate_value", quoteInt64(issue.face), "total_value", quoteInt64(issue.face*total),
		"underlying_asset_value", quoteInt64(issue.face*total), "early_redemption_allowed", "true", "early_redemption_penalty", quoteInt64(issue.penalty),
		"max_subscription", "40", "subscription_end", `"2026-12-31"`))
	if reading.ReviewFirst {
		issue.do(Approve, pairsOf(boardReview())...)
	}
	issue.do(Offer)
	var people []ledger.ID
	for len(people) < holders || random.IntN(3) > 0 {
		var id ledger.ID
		if len(people) > 0 && random.IntN(4) == 0 || len(people) == holders {
			id = people[random.IntN(len(people))]
		} else {
			id = uuid.New()
			people = append(people, id)
			issue.currentBalances[id] = new(big.Int)
		}
		n := random.Int64N(20) + 1
		decision, err := issue.decide(issue.record, Subscribe, input("investor_id", strconv.Quote(id.String()), "certificates", fmt.Sprint(n)), issue.now)
		if tooMany := issue.certificates[id]+n > 40; tooMany != (err != nil) {
			t.Fatalf("%d certificates in addition to %d: %v", n, issue.certificates[id], err)
		}
		if err == nil {
			issue.book(&decision)
			issue.record = decision.Record
			issue.certificates[id] += n
			issue.sold += n
		}
	}
	return issue
}

func quoteInt64(n int64) string { return strconv.Quote(strconv.FormatInt(n, 10)) }

// bookBatches books the batches of the last action. It checks the number of batches, and that each has one
// entry with the action's date.
func (issue *issueWithHolders) bookBatches(action Action, status Status) {
	issue.t.Helper()
	declaration, batches := issue.decision, 0
	if issue.record.Status != status {
		issue.t.Fatalf("%s leads to %s, not to %s", action, issue.record.Status, status)
	}
	total := int64(len(issue.certificates))
	for {
		p, underWay := issue.record.Progress()
		if !underWay {
			break
		}
		if p.Doing != action || p.Total != total || p.Done != int64(batches)*holdersPerBatch(action) || issue.decision.Finish || issue.decision.Due == 0 || issue.decision.Due > issue.now {
			issue.t.Fatalf("batch %d of %s: %+v, due %v, finished: %v", batches, action, p, issue.decision.Due, issue.decision.Finish)
		}
		d, due := issue.onDue(issue.record, issue.now)
		if !due || !d.MustRecord || len(d.Events) != 1 || d.Events[0].Name != "batch" || d.Events[0].From != string(status) || d.Events[0].To != string(status) {
			issue.t.Fatalf("batch %d of %s: %v, due: %v", batches, action, d.Events, due)
		}
		if e := d.Events[0].Entry; len(e.Postings) > ledger.MaxPostings || e.Effective != declaration.Events[0].Entry.Effective {
			issue.t.Fatalf("batch %d of %s has %d lines, dated %v", batches, action, len(e.Postings), e.Effective)
		}
		if batches%5 == 0 {
			issue.apply(d) // not every time, because apply compares every account
		} else {
			issue.book(&d)
			issue.decision, issue.record = d, d.Record
		}
		batches++
	}
	if want := int(Batches(action, total)); batches != want || batches == 0 && total > maxAtOnce {
		issue.t.Fatalf("%s takes %d batches for %d holders; want %d", action, batches, total, want)
	}
	if got := issue.balance(issue.record.account("L:distributions")); !got.IsZero() {
		issue.t.Fatalf("after %s L:distributions holds %v", action, got)
	}
}

func (issue *issueWithHolders) wantBalance(path ledger.Path, want *big.Int) {
	issue.t.Helper()
	if got := issue.balance(path); got.String() != want.String() {
		issue.t.Fatalf("%s holds %v; want %v", path, got, want)
	}
}

// checkAccounts compares every account with the balance that the test itself has computed. Of each holder's accounts, only
// the one with the given stem must have a balance: the face value of the holder's certificates. The stem is "" if the
// certificates are redeemed.
func (issue *issueWithHolders) checkAccounts(stem string) {
	issue.t.Helper()
	faceOfAll := big.NewInt(issue.face * issue.sold)
	for id, n := range issue.certificates {
		for _, accountStem := range []string{"L:subscription", "Q:holders", "Q:holders_defaulted"} {
			want := new(big.Int)
			if accountStem == stem {
				want.SetInt64(issue.face * n)
			}
			issue.wantBalance(issue.record.accountFor(accountStem, id), want)
		}
		issue.wantBalance(currentAccount(id), issue.currentBalances[id])
	}
	underlying, impaired := new(big.Int), new(big.Int)
	switch stem {
	case "Q:holders":
		underlying = faceOfAll
	case "Q:holders_defaulted":
		impaired = faceOfAll
	}
	issue.wantBalance(issue.record.account("A:underlying"), underlying)
	issue.wantBalance(issue.record.account("A:underlying_impaired"), impaired)
	issue.wantBalance(issue.record.account("L:undistributed"), issue.undistributed)
	penalties, charity := new(big.Int).Set(issue.penalties), new(big.Int).Set(issue.charity)
	if issue.record.Reading == Religious {
		penalties, charity = new(big.Int), charity.Add(charity, penalties)
	}
	issue.wantBalance("I:penalty", penalties)
	issue.wantBalance("L:charity", charity)
}

func (issue *issueWithHolders) distributeProfit(sum int64) {
	issue.t.Helper()
	issue.do(Profit, "total_profit", quoteInt64(sum))
	if perCertificate := sum / issue.sold; perCertificate > 0 {
		issue.bookBatches(Profit, Active)
	}
	perCertificate := sum / issue.sold
	for id, n := range issue.certificates {
		issue.currentBalances[id].Add(issue.currentBalances[id], big.NewInt(perCertificate*n))
	}
	issue.undistributed.Add(issue.undistributed, big.NewInt(sum-perCertificate*issue.sold))
	issue.checkAccounts("Q:holders")
}

func (issue *issueWithHolders) giveAwayRemainder() {
	issue.charity.Add(issue.charity, issue.undistributed)
	issue.undistributed = new(big.Int)
}

// Each holder gets the exact amount even if there are too many holders to pay them all at once. The tested
// numbers of holders are the largest that needs no batches, this number plus one, a number that fills the last
// batch, and a random number.
func TestAnActionOverManyHoldersIsCarriedOutInBatches(t *testing.T) {
	random := testseed.Random(t)
	counts := []int{maxAtOnce + 1, 126 * 12, maxAtOnce + random.IntN(900), maxAtOnce}
	for i, reading := range Readings {
		for k, end := range []Action{Redeem, RedeemEarly, Default} {
			holders := counts[(3*i+k)%len(counts)]
			t.Run(fmt.Sprint(reading.Name, " ", holders, " ", end), func(t *testing.T) {
				issue := newIssueWithHolders(t, random, reading, holders)
				issue.do(Activate, "issue_date", `"2026-01-01"`)
				issue.bookBatches(Activate, Active)
				issue.checkAccounts("Q:holders")
				issue.distributeProfit(issue.sold - 1) // less than one minor unit for each certificate
				issue.distributeProfit(issue.sold*random.Int64N(50) + random.Int64N(issue.sold) + issue.sold)
				issue.passDays(61)
				switch end {
				case Redeem:
					issue.do(Mature)
					issue.do(Redeem, "redemption_date", `"2026-03-02"`)
				case RedeemEarly:
					issue.do(RedeemEarly, "redemption_date", `"2026-03-01"`)
				case Default:
					issue.do(Default, "reason", `"the tenant has left"`)
				}
				if end == Default {
					issue.bookBatches(end, Defaulted)
					issue.giveAwayRemainder()
					issue.checkAccounts("Q:holders_defaulted")
					return
				}
				issue.bookBatches(end, Redeemed)
				for id, n := range issue.certificates {
					penalty := int64(0)
					if end == RedeemEarly {
						penalty = min(issue.penalty*n/issue.sold, issue.face*n)
					}
					issue.currentBalances[id].Add(issue.currentBalances[id], big.NewInt(issue.face*n-penalty))
					issue.penalties.Add(issue.penalties, big.NewInt(penalty))
				}
				issue.giveAwayRemainder()
				issue.checkAccounts("")
				if !issue.decision.Finish || ciOutstanding.Get(issue.record.Values) != 0 {
					t.Errorf("finished: %v, %d outstanding", issue.decision.Finish, ciOutstanding.Get(issue.record.Values))
				}
			})
		}
	}
}

// An action over many holders takes effect as a whole before its batches are booked: all its money is on
// L:distributions, and the contract shows how many holders have been paid.
func TestDeclaredActionShowsItsProgress(t *testing.T) {
	issue := newIssueWithHolders(t, rand.New(rand.NewPCG(1, 1)), Religious, 2_000)
	issue.do(Activate)
	issue.wantPostings("Dr A:underlying:{c} "+fmt.Sprint(issue.face*issue.sold), "Cr L:distributions:{c} "+fmt.Sprint(issue.face*issue.sold))
	if issue.decision.BatchPhase != BatchBegins || issue.decision.Reserve != money.FromUint64(uint64(issue.face*issue.sold)) {
		t.Errorf("under way: %v, %v reserved", issue.decision.BatchPhase, issue.decision.Reserve)
	}
	issue.wantColumns("holders_total", "2000", "certificates_outstanding", fmt.Sprint(issue.sold))
	issue.wantRows("progress", "activate 0 2000 activate 2026-01-01 2026-01-01")
	d, _ := issue.onDue(issue.record, issue.now)
	issue.apply(d)
	issue.wantRows("progress", "activate 126 2000 activate 2026-01-01 2026-01-01")
	issue.bookRemainingBatches()
	issue.do(Profit, "total_profit", quoteInt64(3*issue.sold+1))
	issue.wantRows("progress", "distribute_profit 0 2000 profit 2026-01-01 2026-01-01")
	issue.bookRemainingBatches()
	if issue.decision.BatchPhase != BatchEnds {
		t.Error("the decision for the last batch does not have BatchEnds")
	}
	issue.wantRows("progress")
}

// bookRemainingBatches books the remaining batches of the last action.
func (issue *issueWithHolders) bookRemainingBatches() {
	for {
		d, due := issue.onDue(issue.record, issue.now)
		if !due {
			return
		}
		issue.apply(d)
	}
}

// A row of the register of holders has only one stored form. So changed bytes are refused, or they are the form of a
// different row.
func TestOtherFormsOfRegisterRowsAreRefused(t *testing.T) {
	random := testseed.Random(t)
	for range 2_000 {
		subscription := Subscription{Number: 7, Holder: 1 + random.Int64N(1<<random.IntN(60)), Investor: uuid.New(), Certificates: 1 + random.Int64N(1<<random.IntN(60)), On: ledger.Date(1 + random.Int32N(1<<30))}
		holder := Holder{Number: 9, Investor: uuid.New(), Certificates: 1 + random.Int64N(1<<random.IntN(60))}
		storedSubscription, storedHolder := AppendSubscription(nil, &subscription), AppendHolder(nil, &holder)
		if got, err := ReadSubscription(7, storedSubscription); err != nil || got != subscription {
			t.Fatalf("%+v is read as %+v (%v)", subscription, got, err)
		}
		if got, err := ReadHolder(9, storedHolder); err != nil || got != holder {
			t.Fatalf("%+v is read as %+v (%v)", holder, got, err)
		}
		for _, stored := range [][]byte{storedSubscription, storedHolder} {
			changed := bytes.Clone(stored)
			changed[random.IntN(len(changed))] ^= byte(1 + random.IntN(255))
			if got, err := ReadSubscription(7, changed); err == nil && !bytes.Equal(AppendSubscription(nil, &got), changed) {
				t.Fatalf("%x has another form of %+v", changed, got)
			}
			if got, err := ReadHolder(9, changed); err == nil && !bytes.Equal(AppendHolder(nil, &got), changed) {
				t.Fatalf("%x has another form of %+v", changed, got)
			}
			if _, err := ReadSubscription(7, stored[:random.IntN(len(stored))]); err == nil {
				t.Fatal("a truncated row is accepted")
			}
		}
	}
}
