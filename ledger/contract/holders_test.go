package contract

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
)

// newRandom returns a source of random numbers and prints its seed, which MIZAN_SEED sets to repeat a run.
func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if seedText := os.Getenv("MIZAN_SEED"); seedText != "" {
		var err error
		if seed, err = strconv.ParseUint(seedText, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("MIZAN_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// issueWithHolders is an issue with many holders, and the balances that its accounts should have by the
// test's own arithmetic.
type issueWithHolders struct {
	*contractFixture
	face, penalty          int64
	certificates           map[ledger.ID]int64
	sold                   int64
	currentBalances        map[ledger.ID]*big.Int // of each holder
	charity, undistributed *big.Int               // indivisible remainders: given to charity, and still undistributed
	penalties              *big.Int               // for early redemption
}

func newIssueWithHolders(t *testing.T, d *rand.Rand, reading *Reading, holders int) *issueWithHolders {
	t.Helper()
	c := &issueWithHolders{face: d.Int64N(90) + 1, penalty: d.Int64N(20_000), certificates: map[ledger.ID]int64{}, currentBalances: map[ledger.ID]*big.Int{}, charity: new(big.Int), undistributed: new(big.Int), penalties: new(big.Int)}
	total := int64(holders) * 60
	c.contractFixture = openContract(t, Certificate, reading, withChanges(issueBody(), "certificate_value", quoteInt64(c.face), "total_value", quoteInt64(c.face*total),
		"underlying_asset_value", quoteInt64(c.face*total), "early_redemption_allowed", "true", "early_redemption_penalty", quoteInt64(c.penalty),
		"max_subscription", "40", "subscription_end", `"2026-12-31"`))
	if reading.ReviewFirst {
		c.do(Pass, pairsOf(boardReview())...)
	}
	c.do(Offer)
	var people []ledger.ID
	for len(people) < holders || d.IntN(3) > 0 {
		var id ledger.ID
		if len(people) > 0 && d.IntN(4) == 0 || len(people) == holders {
			id = people[d.IntN(len(people))]
		} else {
			id = uuid.New()
			people = append(people, id)
			c.currentBalances[id] = new(big.Int)
		}
		n := d.Int64N(20) + 1
		decision, err := c.decide(c.record, Subscribe, input("investor_id", strconv.Quote(id.String()), "certificates", fmt.Sprint(n)), c.now)
		if tooMany := c.certificates[id]+n > 40; tooMany != (err != nil) {
			t.Fatalf("%d certificates beside %d: %v", n, c.certificates[id], err)
		}
		if err == nil {
			c.book(&decision)
			c.record = decision.Record
			c.certificates[id] += n
			c.sold += n
		}
	}
	return c
}

func quoteInt64(n int64) string { return strconv.Quote(strconv.FormatInt(n, 10)) }

// bookBatches books the batches of the last action. It checks their number, and that each has one entry
// with the action's date.
func (c *issueWithHolders) bookBatches(action Action, to Status) {
	c.t.Helper()
	first, batches := c.decision, 0
	if c.record.Status != to {
		c.t.Fatalf("%s leads to %s, not to %s", action, c.record.Status, to)
	}
	total := int64(len(c.certificates))
	for {
		p, underWay := c.record.Progress()
		if !underWay {
			break
		}
		if p.Doing != action || p.Total != total || p.Done != int64(batches)*perBatch(action) || c.decision.Finish || c.decision.Due == 0 || c.decision.Due > c.now {
			c.t.Fatalf("batch %d of %s: %+v, due %v, finished: %v", batches, action, p, c.decision.Due, c.decision.Finish)
		}
		d, due := c.onDue(c.record, c.now)
		if !due || !d.MustRecord || len(d.Events) != 1 || d.Events[0].Name != "batch" || d.Events[0].From != string(to) || d.Events[0].To != string(to) {
			c.t.Fatalf("batch %d of %s: %v, due: %v", batches, action, d.Events, due)
		}
		if e := d.Events[0].Entry; len(e.Postings) > ledger.MaxPostings || e.Effective != first.Events[0].Entry.Effective {
			c.t.Fatalf("batch %d of %s has %d lines, dated %v", batches, action, len(e.Postings), e.Effective)
		}
		if batches%5 == 0 {
			c.apply(d) // only sometimes, because it compares every account
		} else {
			c.book(&d)
			c.decision, c.record = d, d.Record
		}
		batches++
	}
	if want := int(Batches(action, total)); batches != want || batches == 0 && total > maxAtOnce {
		c.t.Fatalf("%s takes %d batches for %d holders; want %d", action, batches, total, want)
	}
	if got := c.balance(c.record.account("L:distributions")); !got.IsZero() {
		c.t.Fatalf("behind %s L:distributions holds %v", action, got)
	}
}

func (c *issueWithHolders) wantBalance(path ledger.Path, want *big.Int) {
	c.t.Helper()
	if got := c.balance(path); got.String() != want.String() {
		c.t.Fatalf("%s holds %v; want %v", path, got, want)
	}
}

// checkAccounts compares every account with the test's own arithmetic. Stem is the kind of account that
// has the face value of each holder's certificates now; "" if they are redeemed.
func (c *issueWithHolders) checkAccounts(stem string) {
	c.t.Helper()
	all := big.NewInt(c.face * c.sold)
	for id, n := range c.certificates {
		for _, of := range []string{"L:subscription", "Q:holders", "Q:holders_defaulted"} {
			want := new(big.Int)
			if of == stem {
				want.SetInt64(c.face * n)
			}
			c.wantBalance(c.record.accountFor(of, id), want)
		}
		c.wantBalance(currentAccount(id), c.currentBalances[id])
	}
	underlying, impaired := new(big.Int), new(big.Int)
	switch stem {
	case "Q:holders":
		underlying = all
	case "Q:holders_defaulted":
		impaired = all
	}
	c.wantBalance(c.record.account("A:underlying"), underlying)
	c.wantBalance(c.record.account("A:underlying_impaired"), impaired)
	c.wantBalance(c.record.account("L:undistributed"), c.undistributed)
	penalties, charity := new(big.Int).Set(c.penalties), new(big.Int).Set(c.charity)
	if c.record.Reading == Religious {
		penalties, charity = new(big.Int), charity.Add(charity, penalties)
	}
	c.wantBalance("I:penalty", penalties)
	c.wantBalance("L:charity", charity)
}

func (c *issueWithHolders) distributeProfit(sum int64) {
	c.t.Helper()
	c.do(Profit, "total_profit", quoteInt64(sum))
	if each := sum / c.sold; each > 0 {
		c.bookBatches(Profit, Active)
	}
	each := sum / c.sold
	for id, n := range c.certificates {
		c.currentBalances[id].Add(c.currentBalances[id], big.NewInt(each*n))
	}
	c.undistributed.Add(c.undistributed, big.NewInt(sum-each*c.sold))
	c.checkAccounts("Q:holders")
}

func (c *issueWithHolders) giveAwayRemainder() {
	c.charity.Add(c.charity, c.undistributed)
	c.undistributed = new(big.Int)
}

// Each holder gets the exact amount even if there are too many holders to pay them all at once. The tested
// numbers of holders are the largest that needs no batches, this number plus one, a number that fills the last
// batch, and a random number.
func TestAnActionOverManyHoldersIsCarriedOutInBatches(t *testing.T) {
	d := newRandom(t)
	counts := []int{maxAtOnce + 1, 126 * 12, maxAtOnce + d.IntN(900), maxAtOnce}
	for i, reading := range Readings {
		for k, end := range []Action{Redeem, RedeemEarly, Default} {
			holders := counts[(3*i+k)%len(counts)]
			t.Run(fmt.Sprint(reading.Name, " ", holders, " ", end), func(t *testing.T) {
				c := newIssueWithHolders(t, d, reading, holders)
				c.do(Activate, "issue_date", `"2026-01-01"`)
				c.bookBatches(Activate, Active)
				c.checkAccounts("Q:holders")
				c.distributeProfit(c.sold - 1) // less than one each
				c.distributeProfit(c.sold*d.Int64N(50) + d.Int64N(c.sold) + c.sold)
				c.passDays(61)
				switch end {
				case Redeem:
					c.do(Mature)
					c.do(Redeem, "redemption_date", `"2026-03-02"`)
				case RedeemEarly:
					c.do(RedeemEarly, "redemption_date", `"2026-03-01"`)
				case Default:
					c.do(Default, "reason", `"the tenant has left"`)
				}
				if end == Default {
					c.bookBatches(end, Defaulted)
					c.giveAwayRemainder()
					c.checkAccounts("Q:holders_defaulted")
					return
				}
				c.bookBatches(end, Redeemed)
				for id, n := range c.certificates {
					penalty := int64(0)
					if end == RedeemEarly {
						penalty = min(c.penalty*n/c.sold, c.face*n)
					}
					c.currentBalances[id].Add(c.currentBalances[id], big.NewInt(c.face*n-penalty))
					c.penalties.Add(c.penalties, big.NewInt(penalty))
				}
				c.giveAwayRemainder()
				c.checkAccounts("")
				if !c.decision.Finish || ciOutstanding.Get(c.record.Values) != 0 {
					t.Errorf("finished: %v, %d outstanding", c.decision.Finish, ciOutstanding.Get(c.record.Values))
				}
			})
		}
	}
}

// An action over many holders counts as a whole before its batches are booked: all its money is on
// L:distributions, and the contract shows how many holders have been paid.
func TestDeclaredActionShowsItsProgress(t *testing.T) {
	c := newIssueWithHolders(t, rand.New(rand.NewPCG(1, 1)), Religious, 2_000)
	c.do(Activate)
	c.wantPostings("Dr A:underlying:{c} "+fmt.Sprint(c.face*c.sold), "Cr L:distributions:{c} "+fmt.Sprint(c.face*c.sold))
	if c.decision.UnderWay != Begins || c.decision.Reserve != money.FromUint64(uint64(c.face*c.sold)) {
		t.Errorf("under way: %v, %v reserved", c.decision.UnderWay, c.decision.Reserve)
	}
	c.wantColumns("holders_total", "2000", "certificates_outstanding", fmt.Sprint(c.sold))
	c.wantRows("progress", "activate 0 2000 activate 2026-01-01 2026-01-01")
	d, _ := c.onDue(c.record, c.now)
	c.apply(d)
	c.wantRows("progress", "activate 126 2000 activate 2026-01-01 2026-01-01")
	c.bookRemainingBatches()
	c.do(Profit, "total_profit", quoteInt64(3*c.sold+1))
	c.wantRows("progress", "distribute_profit 0 2000 profit 2026-01-01 2026-01-01")
	c.bookRemainingBatches()
	if c.decision.UnderWay != Ends {
		t.Error("the last batch does not say so")
	}
	c.wantRows("progress")
}

// bookRemainingBatches books the remaining batches of the last action.
func (c *issueWithHolders) bookRemainingBatches() {
	for {
		d, due := c.onDue(c.record, c.now)
		if !due {
			return
		}
		c.apply(d)
	}
}

// A row of a register has one stored form only: changed bytes are refused, or are the form of another row.
func TestOtherFormsOfRegisterRowsAreRefused(t *testing.T) {
	d := newRandom(t)
	for range 2_000 {
		s := Subscription{Number: 7, Holder: 1 + d.Int64N(1<<d.IntN(60)), Investor: uuid.New(), Certificates: 1 + d.Int64N(1<<d.IntN(60)), On: ledger.Date(1 + d.Int32N(1<<30))}
		h := Holder{Number: 9, Investor: uuid.New(), Certificates: 1 + d.Int64N(1<<d.IntN(60))}
		one, two := AppendSubscription(nil, &s), AppendHolder(nil, &h)
		if got, err := ReadSubscription(7, one); err != nil || got != s {
			t.Fatalf("%+v is read as %+v (%v)", s, got, err)
		}
		if got, err := ReadHolder(9, two); err != nil || got != h {
			t.Fatalf("%+v is read as %+v (%v)", h, got, err)
		}
		for _, stored := range [][]byte{one, two} {
			changed := bytes.Clone(stored)
			changed[d.IntN(len(changed))] ^= byte(1 + d.IntN(255))
			if got, err := ReadSubscription(7, changed); err == nil && !bytes.Equal(AppendSubscription(nil, &got), changed) {
				t.Fatalf("%x has another form of %+v", changed, got)
			}
			if got, err := ReadHolder(9, changed); err == nil && !bytes.Equal(AppendHolder(nil, &got), changed) {
				t.Fatalf("%x has another form of %+v", changed, got)
			}
			if _, err := ReadSubscription(7, stored[:d.IntN(len(stored))]); err == nil {
				t.Fatal("a part of a row is read")
			}
		}
	}
}
