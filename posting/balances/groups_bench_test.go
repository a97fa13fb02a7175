package balances_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
)

// bench is a journal of an organization with many partners.
type bench struct {
	*testkit.World
	b      *testing.B
	random *rand.Rand
}

const (
	benchPartners = 10_000
	benchEvents   = 300_000
)

func openBench(b *testing.B) *bench {
	b.Helper()
	w := &bench{World: testkit.NewWorld(b, start), b: b, random: rand.New(rand.NewPCG(1, 2))}
	w.OpenJournal()
	for done := 0; done < benchEvents; {
		done += w.book(500, done)
	}
	return w
}

// book books count payments. done is the number of payments that were booked before. The first benchPartners payments are one
// in USD for each partner, and the next benchPartners payments are one in EUR for each partner. So every account exists after
// them. The partner of each later payment is random.
func (w *bench) book(count, done int) int {
	c := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}
	for i := range count {
		partner := 1 + w.random.Int64N(benchPartners)
		if n := done + i; n < 2*benchPartners {
			partner = int64(1 + n%benchPartners)
		}
		asset := usd
		if (done+i)/benchPartners%2 == 1 {
			asset.Currency = "EUR"
		}
		at := func(path ledger.Path, side ledger.Side, n uint64) ledger.Posting {
			return ledger.Posting{Account: path, Asset: asset, Side: side, Amount: amount(n)}
		}
		c.Steps = append(c.Steps, posting.Step{
			Org: org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()},
			Events: []ledger.Event{{Name: "move", To: "done", Entry: &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
				at("A:bank", ledger.Debit, 103), at(ledger.PartnerAvailable(partner), ledger.Credit, 90), at("I:fees", ledger.Credit, 3), at(ledger.Suspense(partner), ledger.Credit, 10),
			}}}},
		})
	}
	w.MustSubmit(c)
	return count
}

// makeCheckpoints makes all due checkpoints.
func (w *bench) makeCheckpoints() {
	w.b.Helper()
	for last := new(balances.Checkpoint); ; {
		v := w.Journal.View()
		seq, due, err := balances.NextCheckpoint(v, org, last)
		if err == nil && due {
			last, err = balances.BuildCheckpoint(v, org, last, seq, func(row posting.KV) error {
				w.MustSubmit(&posting.Change{KVs: []posting.KV{row}})
				return nil
			})
		}
		v.Close()
		if err != nil {
			w.b.Fatal(err)
		}
		if !due {
			return
		}
	}
}

// BenchmarkMovingHead reads the sums over all accounts, and the first page of the trial balance, of an organization with 40,000
// accounts and 300,000 events. 200 events are booked between two reads.
func BenchmarkMovingHead(b *testing.B) {
	w := openBench(b)
	for _, late := range []string{"late", "near"} {
		if late == "near" {
			w.makeCheckpoints()
		}
		r := new(balances.Reader)
		sums := func() {
			v, at, err := r.PresentView(org, w.Journal.View)
			if err == nil {
				err = r.Groups(v, org, balances.Query{Env: money.Prod, At: at}, func(ledger.Account, *ledger.Totals) (bool, error) { return true, nil })
			}
			if v.Close(); err != nil {
				b.Fatal(err)
			}
		}
		started := time.Now()
		sums()
		b.Logf("checkpoints are %s: the first sums take %v", late, time.Since(started))
		for name, read := range map[string]func(){
			"sums": sums,
			"page": func() {
				v, rows := w.Journal.View(), 0
				defer v.Close()
				err := r.TrialBalance(v, org, balances.Query{Env: money.Prod, At: 1 << 62, IsPaged: true}, func(ledger.Account, *ledger.Totals) (bool, error) {
					rows++
					return rows <= 50, nil
				})
				if err != nil {
					b.Fatal(err)
				}
			},
		} {
			b.Run(name+"/checkpoints "+late, func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					w.book(200, benchEvents)
					b.StartTimer()
					read()
				}
			})
		}
	}
}
