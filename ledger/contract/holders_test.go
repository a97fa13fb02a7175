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

// newRandom returns the seed of a random test and prints it.
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

// issueWithHolders is an offered issue with many holders, and the balances that they should have by the
// test's own arithmetic.
type issueWithHolders struct {
	*contractFixture
	face, penalty int64
	held          map[ledger.ID]int64
	sold          int64
	has           map[ledger.ID]*big.Int // balances of current accounts
	charity, left *big.Int               // indivisible remainders: given to charity, and still undistributed
	kept          *big.Int               // penalties kept
}

func newIssueWithHolders(t *testing.T, d *rand.Rand, reading *Reading, holders int) *issueWithHolders {
	t.Helper()
	c := &issueWithHolders{face: d.Int64N(90) + 1, penalty: d.Int64N(20_000), held: map[ledger.ID]int64{}, has: map[ledger.ID]*big.Int{}, charity: new(big.Int), left: new(big.Int), kept: new(big.Int)}
	total := int64(holders) * 60
	c.contractFixture = openContract(t, Certificate, reading, but(issueBody(), "certificate_value", minor(c.face), "total_value", minor(c.face*total),
		"underlying_asset_value", minor(c.face*total), "early_redemption_allowed", "true", "early_redemption_penalty", minor(c.penalty),
		"max_subscription", "40", "subscription_end", `"2026-12-31"`))
	if reading.ReviewFirst {
		c.do(Pass, pairsOf(board())...)
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
			c.has[id] = new(big.Int)
		}
		n := d.Int64N(20) + 1
		decision, err := c.decides(c.r, Subscribe, input("investor_id", strconv.Quote(id.String()), "certificates", fmt.Sprint(n)), c.now)
		if tooMany := c.held[id]+n > 40; tooMany != (err != nil) {
			t.Fatalf("%d certificates beside %d: %v", n, c.held[id], err)
		}
		if err == nil {
			c.book(&decision)
			c.r = decision.Record
			c.held[id] += n
			c.sold += n
		}
	}
	return c
}

func minor(n int64) string { return strconv.Quote(strconv.FormatInt(n, 10)) }

// carriedOut books an action's batches. It checks their number, and that each has one entry with
// the action's date.
func (c *issueWithHolders) carriedOut(doing Action, to Status) {
	c.t.Helper()
	first, batches := c.d, 0
	if c.r.Status != to {
		c.t.Fatalf("%s leads to %s, not to %s", doing, c.r.Status, to)
	}
	total := int64(len(c.held))
	for {
		p, under := c.r.Progress()
		if !under {
			break
		}
		if p.Doing != doing || p.Total != total || p.Done != int64(batches)*perBatch(doing) || c.d.Finish || c.d.Due == 0 || c.d.Due > c.now {
			c.t.Fatalf("batch %d of %s: %+v, due %v, finished: %v", batches, doing, p, c.d.Due, c.d.Finish)
		}
		d, due := c.happens(c.r, c.now)
		if !due || !d.MustRecord || len(d.Events) != 1 || d.Events[0].Name != "batch" || d.Events[0].From != string(to) || d.Events[0].To != string(to) {
			c.t.Fatalf("batch %d of %s: %v, due: %v", batches, doing, d.Events, due)
		}
		if e := d.Events[0].Entry; len(e.Postings) > ledger.MaxPostings || e.Effective != first.Events[0].Entry.Effective {
			c.t.Fatalf("batch %d of %s has %d lines, dated %v", batches, doing, len(e.Postings), e.Effective)
		}
		if batches%5 == 0 {
			c.apply(d) // it compares every account: not each time
		} else {
			c.book(&d)
			c.d, c.r = d, d.Record
		}
		batches++
	}
	if want := int(Batches(doing, total)); batches != want || batches == 0 && total > maxAtOnce {
		c.t.Fatalf("%s takes %d batches for %d holders; want %d", doing, batches, total, want)
	}
	if got := c.balance(c.r.account("L:distributions")); !got.IsZero() {
		c.t.Fatalf("behind %s L:distributions holds %v", doing, got)
	}
}

func (c *issueWithHolders) is(path ledger.Path, want *big.Int) {
	c.t.Helper()
	if got := c.balance(path); got.String() != want.String() {
		c.t.Fatalf("%s holds %v; want %v", path, got, want)
	}
}

// stands compares every account with the test's own arithmetic.
func (c *issueWithHolders) stands(stem string) {
	c.t.Helper()
	all := big.NewInt(c.face * c.sold)
	for id, n := range c.held {
		for _, of := range []string{"L:subscription", "Q:holders", "Q:holders_defaulted"} {
			want := new(big.Int)
			if of == stem {
				want.SetInt64(c.face * n)
			}
			c.is(c.r.accountFor(of, id), want)
		}
		c.is(current(id), c.has[id])
	}
	underlying, impaired := new(big.Int), new(big.Int)
	switch stem {
	case "Q:holders":
		underlying = all
	case "Q:holders_defaulted":
		impaired = all
	}
	c.is(c.r.account("A:underlying"), underlying)
	c.is(c.r.account("A:underlying_impaired"), impaired)
	c.is(c.r.account("L:undistributed"), c.left)
	penalties, charity := new(big.Int).Set(c.kept), new(big.Int).Set(c.charity)
	if c.r.Reading == Religious {
		penalties, charity = new(big.Int), charity.Add(charity, penalties)
	}
	c.is("I:penalty", penalties)
	c.is("L:charity", charity)
}

func (c *issueWithHolders) profit(sum int64) {
	c.t.Helper()
	c.do(Profit, "total_profit", minor(sum))
	if each := sum / c.sold; each > 0 {
		c.carriedOut(Profit, Active)
	}
	each := sum / c.sold
	for id, n := range c.held {
		c.has[id].Add(c.has[id], big.NewInt(each*n))
	}
	c.left.Add(c.left, big.NewInt(sum-each*c.sold))
	c.stands("Q:holders")
}

func (c *issueWithHolders) givenAway() {
	c.charity.Add(c.charity, c.left)
	c.left = new(big.Int)
}

// The sums equal those for few holders to the minor unit: for one holder more than fit at once,
// for a number that fills the last batch, and for one that does not.
func TestAnActionOverManyHoldersIsCarriedOutInBatches(t *testing.T) {
	d := newRandom(t)
	counts := []int{maxAtOnce + 1, 126 * 12, maxAtOnce + d.IntN(900), maxAtOnce}
	for i, reading := range Readings {
		for k, end := range []Action{Redeem, RedeemEarly, Default} {
			holders := counts[(3*i+k)%len(counts)]
			t.Run(fmt.Sprint(reading.Name, " ", holders, " ", end), func(t *testing.T) {
				c := newIssueWithHolders(t, d, reading, holders)
				c.do(Activate, "issue_date", `"2026-01-01"`)
				c.carriedOut(Activate, Active)
				c.stands("Q:holders")
				c.profit(c.sold - 1) // less than one each
				c.profit(c.sold*d.Int64N(50) + d.Int64N(c.sold) + c.sold)
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
					c.carriedOut(end, Defaulted)
					c.givenAway()
					c.stands("Q:holders_defaulted")
					return
				}
				c.carriedOut(end, Redeemed)
				for id, n := range c.held {
					less := int64(0)
					if end == RedeemEarly {
						less = min(c.penalty*n/c.sold, c.face*n)
					}
					c.has[id].Add(c.has[id], big.NewInt(c.face*n-less))
					c.kept.Add(c.kept, big.NewInt(less))
				}
				c.givenAway()
				c.stands("")
				if !c.d.Finish || ciOutstanding.Get(c.r.Values) != 0 {
					t.Errorf("finished: %v, %d outstanding", c.d.Finish, ciOutstanding.Get(c.r.Values))
				}
			})
		}
	}
}

// A declared action counts as a whole: its money is on L:distributions, and the contract shows
// its progress.
func TestADeclaredActionSaysHowFarItIs(t *testing.T) {
	c := newIssueWithHolders(t, rand.New(rand.NewPCG(1, 1)), Religious, 2_000)
	c.do(Activate)
	c.wantPostings("Dr A:underlying:{c} "+fmt.Sprint(c.face*c.sold), "Cr L:distributions:{c} "+fmt.Sprint(c.face*c.sold))
	if c.d.UnderWay != Begins || c.d.Reserve != money.FromUint64(uint64(c.face*c.sold)) {
		t.Errorf("under way: %v, %v reserved", c.d.UnderWay, c.d.Reserve)
	}
	c.wantColumns("holders_total", "2000", "certificates_outstanding", fmt.Sprint(c.sold))
	c.wantRows("progress", "activate 0 2000 activate 2026-01-01 2026-01-01")
	d, _ := c.happens(c.r, c.now)
	c.apply(d)
	c.wantRows("progress", "activate 126 2000 activate 2026-01-01 2026-01-01")
	c.carriedOutFrom(Activate)
	c.do(Profit, "total_profit", minor(3*c.sold+1))
	c.wantRows("progress", "distribute_profit 0 2000 profit 2026-01-01 2026-01-01")
	c.carriedOutFrom(Profit)
	if c.d.UnderWay != Ends {
		t.Error("the last batch does not say so")
	}
	c.wantRows("progress")
}

// carriedOutFrom books the remaining batches of an action.
func (c *issueWithHolders) carriedOutFrom(Action) {
	for {
		d, due := c.happens(c.r, c.now)
		if !due {
			return
		}
		c.apply(d)
	}
}

// A register's rows can be read in the written form only.
func TestRowsOfARegisterHaveOneForm(t *testing.T) {
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
