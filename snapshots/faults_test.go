package snapshots_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/vmihailenco/msgpack/v5"

	live "mizan/actors/payment"
	"mizan/internal/clock"
	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots"
)

func transaction(id ledger.ID) ledger.Source { return ledger.Source{Kind: ledger.Transaction, ID: id} }

// decided is a decision as actors/payment submits it, with its transitions counted as those
// of a merchant without an address.
func decided(org ledger.ID, d *payment.Decision, version uint64, claims ...ledger.Claim) *posting.Change {
	for i := range d.Events {
		switch e := &d.Events[i]; {
		case !payment.Notifiable(e):
		case payment.NotifiedByDefault(payment.Status(e.To)):
			d.Record.Unnotified++
		default:
			d.Record.Unwanted++
		}
	}
	return uncounted(org, d, version, claims...)
}

// uncounted is a decision with no transition counted.
func uncounted(org ledger.ID, d *payment.Decision, version uint64, claims ...ledger.Claim) *posting.Change {
	return &posting.Change{
		Funds: d.Funds, Counters: d.Counters, Outcome: d.Outcome, Claims: claims,
		Steps: []posting.Step{{
			Org: org, Source: transaction(d.Record.ID), Expect: version, Record: paymentcodec.Encode(d.Record),
			List: posting.List{Partner: d.Record.Partner, Env: uint8(d.Record.Asset.Env)}, Due: d.Due, Finish: d.Finish, Events: d.Events,
		}},
	}
}

func asked(w *town, txid string) (payment.DecisionContext, payment.Request) {
	return payment.DecisionContext{Org: w.first.Org, Now: start, Inquire: 10 * time.Second, ActionTTL: 30 * time.Minute}, payment.Request{
		Type: payment.Payment, TxID: txid, Amount: money.FromUint64(10_199), Asset: usd, Method: payment.BankCard,
		ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
	}
}

func claim(org ledger.ID, partner int64, r *payment.Record) ledger.Claim {
	return ledger.Claim{Org: org, Kind: ledger.ClaimTxID, Key: live.TxIDKey(partner, r.TxID), Owner: r.ID[:]}
}

// settlement is money between the bank and a partner, outside of any transaction.
func settlement(org ledger.ID, partner int64, out bool, amount uint64, effective ledger.Date) *posting.Change {
	id, reference := uuid.New(), "r-"+uuid.NewString()
	bank, owner := ledger.Debit, ledger.Credit
	if out {
		bank, owner = owner, bank
	}
	payload, err := msgpack.Marshal(map[string]any{
		"partner": partner, "reference": reference, "out": out,
		"lines": []map[string]any{{"asset": usd.AppendBinary(nil), "amount": money.FromUint64(amount).AppendBinary(nil)}},
	})
	if err != nil {
		panic(err)
	}
	return &posting.Change{
		Claims: []ledger.Claim{{Org: org, Kind: ledger.ClaimSettlement, Key: settlementKey(partner, reference), Owner: id[:]}},
		Steps: []posting.Step{{
			Org: org, Source: ledger.Source{Kind: ledger.Settlement, ID: id}, Record: append([]byte{1}, payload...),
			List: posting.List{Partner: partner, Env: 0x80 | uint8(usd.Env)},
			Events: []ledger.Event{{Name: "settle", To: "settled", Entry: &ledger.Entry{Phase: ledger.Posted, Effective: effective, Postings: []ledger.Posting{
				{Account: ledger.Bank, Asset: usd, Side: bank, Amount: money.FromUint64(amount)},
				{Account: ledger.PartnerAvailable(partner), Asset: usd, Side: owner, Amount: money.FromUint64(amount)},
			}}}},
		}},
	}
}

// forced is money that has moved and is written down whatever it does.
func forced(c *posting.Change) *posting.Change {
	c.Outcome = true
	return c
}

// fault is one thing that goes wrong in a sound store, and the rules that say so.
type fault struct {
	name   string
	make   func(t *testing.T, w *town)
	broken []int
	says   string // in every detail: no other check finds it; empty: not looked at
}

func TestEveryPlantedFaultBreaksItsRuleAndNoOther(t *testing.T) {
	eachWay(t, func(t *testing.T, settle func(testing.TB) *town) {
		for _, list := range [][]fault{
			claimFaults, totalFaults, stateFaults, journalFaults, callFaults, // one thing each, by rules
			entryFaults, intentFaults, termFaults, refundFaults, standingFaults, returnFaults, shareFaults, sealedFaults, keyFaults, operationFaults, settlementFaults, volumeFaults,
		} {
			wantFaults(t, settle, list)
		}
	})
}

// wantFaults plants each fault in a town of its own and checks what is said of it.
func wantFaults(t *testing.T, settle func(testing.TB) *town, list []fault) {
	for _, f := range list {
		t.Run(f.name, func(t *testing.T) {
			w := settle(t)
			f.make(t, w)
			report := w.check(t, snapshots.Inputs{})
			wantBroken(t, report, f.broken...)
			wantSaid(t, report, f.says)
		})
	}
}

// wantSaid checks that all details of a report say one thing.
func wantSaid(t *testing.T, report *snapshots.Report, says string) {
	t.Helper()
	for _, rule := range report.Rules {
		for _, detail := range rule.Details {
			if !strings.Contains(detail, says) {
				t.Errorf("rule %d says %q, want %q", rule.Number, detail, says)
			}
		}
	}
}

var claimFaults = []fault{
	{"two transactions for one Change", func(t *testing.T, w *town) {
		at, request := asked(w, "twice")
		first, second := at.Reject(uuid.New(), 1, request, payment.Failure{Code: payment.UnexpectedCard}), at.Reject(uuid.New(), 1, request, payment.Failure{Code: payment.UnexpectedCard})
		w.submit(t, decided(w.first.Org, &first, 0, claim(w.first.Org, 1, first.Record)), decided(w.first.Org, &second, 0))
	}, []int{4}, ""},
	{"a volatile txid claim", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) { p.group.Delete(store.KeyClaim(nil, w.first.Org, ledger.ClaimTxID, "1/order-2")) })
	}, []int{4}, ""},
	{"a txid claim that names nothing", func(t *testing.T, w *town) {
		id := uuid.New()
		w.plant(t, func(p *planter) { p.group.Set(store.KeyClaim(nil, w.first.Org, ledger.ClaimTxID, "1/none"), id[:]) })
	}, []int{4}, ""},
	{"a second claim on a transaction", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			p.group.Set(store.KeyClaim(nil, w.first.Org, ledger.ClaimTxID, "1/other"), w.charged.ID[:])
		})
	}, []int{4}, ""},
	{"a volatile login", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) { p.group.Delete(store.KeyClaim(nil, w.first.Org, ledger.ClaimLogin, "other")) })
	}, []int{4}, ""},
	{"volatile key hashes", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) { p.deleteAll(store.KeyClaims(nil, w.second.Org, ledger.ClaimKeyHash)) })
	}, []int{4}, ""},
	{"a volatile partner number", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) { p.group.Delete(store.KeyClaim(nil, ledger.ID{}, ledger.ClaimNumber, "2")) })
	}, []int{4}, ""},
	{"a partner number that nobody has", func(t *testing.T, w *town) {
		id := uuid.New()
		w.plant(t, func(p *planter) { p.group.Set(store.KeyClaim(nil, ledger.ID{}, ledger.ClaimNumber, "77"), id[:]) })
	}, []int{4}, ""},
	{"a settlement without its claim", func(t *testing.T, w *town) {
		c := settlement(w.first.Org, 1, false, 10, 0)
		c.Claims = nil
		w.submit(t, c)
	}, []int{4}, ""},
	{"a transaction that no list shows", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) { p.erase(store.KeyLists(nil, w.second.Org, 2, uint8(money.Prod))) })
	}, []int{4}, ""},
	{"a transaction in another partner's list", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			row := store.Listed{Booked: 5, ID: w.charged.ID}
			p.group.Set(store.KeyList(nil, w.first.Org, 9, uint8(money.Prod), 5), store.EncodeListed(nil, row))
		})
	}, []int{4}, ""},
}

var totalFaults = []fault{
	{"a dropped line", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			p.lines(w.first.Org, ledger.Account{Path: ledger.Fees, Asset: usd}, func(l []store.Line) []store.Line { return l[:len(l)-1] })
		})
	}, []int{2}, ""},
	{"a line of no event", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			p.lines(w.first.Org, ledger.Account{Path: ledger.Fees, Asset: usd}, func(l []store.Line) []store.Line { return append(l, l[len(l)-1]) })
		})
	}, []int{2}, ""},
	{"an account of no event", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			l := store.Line{Seq: 1, Booked: 7, Side: ledger.Debit, Phase: ledger.Posted, Amount: money.FromUint64(1)}
			p.group.Set(store.KeyPage(nil, w.first.Org, ledger.Account{Path: "A:stray", Asset: usd}, 7), store.EncodeLine(nil, &l))
		})
	}, []int{2}, ""},
	{"an account without its pages", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			p.deleteAll(store.KeyPages(nil, w.first.Org, ledger.Account{Path: ledger.Fees, Asset: usd}))
		})
	}, []int{2}, ""},
	{"a running total rounded up", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			p.lines(w.first.Org, ledger.Account{Path: ledger.Fees, Asset: usd}, func(l []store.Line) []store.Line {
				l[0].Totals.CreditsPosted, _ = l[0].Totals.CreditsPosted.Add(money.FromUint64(1))
				return l
			})
		})
	}, []int{2}, ""},
	{"a page at another time", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			keys, rows := p.rows(store.KeyPages(nil, w.first.Org, ledger.Account{Path: ledger.Fees, Asset: usd}))
			p.group.Delete(keys[0])
			keys[0][len(keys[0])-1]--
			p.group.Set(keys[0], rows[0])
		})
	}, []int{2}, ""},
	{"a dropped posting", func(t *testing.T, w *town) { w.opening(t, dropPosting) }, []int{2, 3}, ""}, // nor is it what the settlement says
	{"an amount rounded up on one side", func(t *testing.T, w *town) { w.opening(t, roundUp) }, []int{2, 3}, ""},
	{"a balance below its overdraft", func(t *testing.T, w *town) {
		w.submit(t, forced(settlement(w.first.Org, 3, true, 501, 0)))
	}, []int{2}, ""},
	{"a balance at its overdraft", func(t *testing.T, w *town) {
		w.submit(t, forced(settlement(w.first.Org, 3, true, 500, 0)))
	}, nil, ""},
	{"an overdraft that was lowered when it was in use", func(t *testing.T, w *town) {
		w.submit(t, forced(settlement(w.first.Org, 3, true, 500, 0)))
		h := open(t, w)
		defer h.close()
		if _, err := h.directory.PatchPartner(t.Context(), w.first.Org, 3, words.PartnerPatch{Overdraft: &[]words.Overdraft{}}); err != nil {
			t.Fatal(err)
		}
	}, nil, ""},
	{"a balance below zero", func(t *testing.T, w *town) {
		w.submit(t, forced(settlement(w.first.Org, 1, true, 100_000_000_000, 0)))
	}, []int{2}, ""},
	{"a line by effective date that is gone", func(t *testing.T, w *town) {
		w.submit(t, settlement(w.first.Org, 1, false, 10, ledger.DateOf(start)-1))
		wantBroken(t, w.check(t, snapshots.Inputs{}))
		w.plant(t, func(p *planter) {
			p.deleteAll(store.KeyShifts(nil, w.first.Org, ledger.Account{Path: ledger.Bank, Asset: usd}))
		})
	}, []int{2}, ""},
	{"a line by another effective date", func(t *testing.T, w *town) {
		w.submit(t, settlement(w.first.Org, 1, false, 10, ledger.DateOf(start)-1))
		w.plant(t, func(p *planter) {
			a := ledger.Account{Path: ledger.Bank, Asset: usd}
			_, rows := p.rows(store.KeyShifts(nil, w.first.Org, a))
			p.group.Set(store.KeyShifted(nil, w.first.Org, a, 1, 1, 0), rows[0])
		})
	}, []int{2}, ""},
}

var stateFaults = []fault{
	{"a fee rounded up", func(t *testing.T, w *town) {
		at, request := asked(w, "rounded")
		exact := at.Create(uuid.New(), 1, request, &payment.Terms{
			Terminal: w.charged.Terminal, Asset: usd, Fees: payment.Fees{Fixed: mustAdd(w.charged.Fee, 1)}, Route: "another",
		})
		w.submit(t, decided(w.first.Org, &exact, 0, claim(w.first.Org, 1, exact.Record)))
		next, _ := at.Answered(exact.Record, payment.Answer{Verdict: payment.VerdictCharged})
		w.submit(t, decided(w.first.Org, &next, 3))
	}, []int{3}, ""},
	{"an entry of another amount than its record", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			p.record(w.second.Org, firstOf(p, w.second.Org), func(_ *store.Envelope, payload []byte) []byte {
				r, _ := paymentcodec.Decode(payload)
				r.Amount, r.WithFee, r.Dest, r.Merchant.Abs = mustAdd(r.Amount, 1), mustAdd(r.WithFee, 1), mustAdd(r.Dest, 1), mustAdd(r.Merchant.Abs, 1)
				return paymentcodec.Encode(r)
			})
		})
	}, []int{3}, ""},
	{"a status that no event led to", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			p.record(w.first.Org, transaction(w.refused.ID), func(_ *store.Envelope, payload []byte) []byte {
				r, _ := paymentcodec.Decode(payload)
				r.Status = payment.Failed
				return paymentcodec.Encode(r)
			})
		})
	}, []int{3}, ""},
	{"a partner switched off without an event", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			keys, _ := p.rows(store.KeyRecords(nil, w.second.Org, ledger.Partner))
			_, source, _ := store.ParseRecordKey(keys[0])
			p.record(w.second.Org, source, func(_ *store.Envelope, payload []byte) []byte {
				var fields map[string]any
				if err := msgpack.Unmarshal(payload[1:], &fields); err != nil {
					t.Fatal(err)
				}
				fields["active"] = false
				changed, err := msgpack.Marshal(fields)
				if err != nil {
					t.Fatal(err)
				}
				return append([]byte{1}, changed...)
			})
		})
	}, []int{3}, ""},
	{"a version that no event led to", func(t *testing.T, w *town) { w.stamp(t, func(e *store.Envelope) { e.Version++ }) }, []int{3}, ""},
	{"another time of creation", func(t *testing.T, w *town) { w.stamp(t, func(e *store.Envelope) { e.Started-- }) }, []int{3}, ""},
	{"a hold that is not there", func(t *testing.T, w *town) { w.stamp(t, func(e *store.Envelope) { e.Held = 9 }) }, []int{3}, ""},
	{"a settlement that is not there", func(t *testing.T, w *town) { w.stamp(t, func(e *store.Envelope) { e.Settled = 9 }) }, []int{3}, ""},
	{"a transaction without its record", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) { p.group.Delete(store.KeyRecord(nil, w.first.Org, transaction(w.refused.ID))) })
	}, []int{3, 4}, ""}, // its claim names nothing either
	{"a record without events", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			_, rows := p.rows(store.KeyRecord(nil, w.first.Org, transaction(w.refused.ID)))
			p.group.Set(store.KeyRecord(nil, w.first.Org, transaction(uuid.New())), rows[0])
		})
	}, []int{3}, ""},
	{"a step that no machine has", func(t *testing.T, w *town) {
		at, request := asked(w, "step")
		d := at.Reject(uuid.New(), 1, request, payment.Failure{Code: payment.UnexpectedCard})
		d.Events[1].Name = "settle"
		d.Events[1].Entry = &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
			{Account: "A:bank", Asset: usd, Side: ledger.Debit, Amount: money.FromUint64(1)},
			{Account: "I:fees", Asset: usd, Side: ledger.Credit, Amount: money.FromUint64(1)},
		}}
		w.submit(t, decided(w.first.Org, &d, 0, claim(w.first.Org, 1, d.Record)))
	}, []int{3}, ""},
	{"money that moves without a state", func(t *testing.T, w *town) {
		at, request := asked(w, "moves")
		d := at.Reject(uuid.New(), 1, request, payment.Failure{Code: payment.UnexpectedCard})
		d.Events[0].Entry = &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
			{Account: "A:bank", Asset: usd, Side: ledger.Debit, Amount: money.FromUint64(1)},
			{Account: "I:fees", Asset: usd, Side: ledger.Credit, Amount: money.FromUint64(1)},
		}}
		w.submit(t, decided(w.first.Org, &d, 0, claim(w.first.Org, 1, d.Record)))
	}, []int{3}, ""},
	{"a state without its entry", func(t *testing.T, w *town) {
		at, request := asked(w, "empty")
		d := at.Create(uuid.New(), 1, request, &payment.Terms{Terminal: uuid.New(), Asset: usd})
		w.submit(t, decided(w.first.Org, &d, 0, claim(w.first.Org, 1, d.Record)))
		next, _ := at.Answered(d.Record, payment.Answer{Verdict: payment.VerdictCharged})
		next.Events[1].Entry = nil
		w.submit(t, decided(w.first.Org, &next, 3))
	}, []int{3}, ""},
	{"more captured than was held", func(t *testing.T, w *town) {
		at, request := asked(w, "more")
		request.Type = payment.Payout
		d := at.Create(uuid.New(), 1, request, &payment.Terms{Terminal: uuid.New(), Asset: usd})
		w.submit(t, decided(w.first.Org, &d, 0, claim(w.first.Org, 1, d.Record)))
		next, _ := at.Answered(d.Record, payment.Answer{Verdict: payment.VerdictCharged})
		for i := range next.Events[1].Entry.Postings {
			line := &next.Events[1].Entry.Postings[i]
			line.Amount = mustAdd(line.Amount, 1)
		}
		next.Record.Amount, next.Record.WithFee, next.Record.Dest = mustAdd(request.Amount, 1), mustAdd(request.Amount, 1), mustAdd(request.Amount, 1)
		next.Record.Merchant.Abs = next.Record.Dest
		w.submit(t, decided(w.first.Org, &next, 3))
	}, []int{3}, ""},
	{"a second return of one charge", func(t *testing.T, w *town) {
		at, _ := asked(w, "")
		v := openJournal(t, w, clock.NewManual(start), nil)
		view := v.View()
		stored, _, err := view.Record(w.first.Org, transaction(w.back.ID))
		view.Close()
		if err != nil || v.Close() != nil {
			t.Fatal(err)
		}
		original, err := paymentcodec.Decode(stored.Payload)
		if err != nil || original.Status != payment.Reversed {
			t.Fatalf("%+v, %v", original, err)
		}
		original.Status = payment.Charged
		d, ok := at.Reversed(original, stored.Stamp.Settled, uuid.New(), payment.Failure{})
		if !ok {
			t.Fatal("it can't be reversed")
		}
		w.submit(t, decided(w.first.Org, d.Return, 0))
	}, []int{3}, ""},
	{"a timer without its due row", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) { p.deleteAll(store.KeyDues(nil)) })
	}, []int{3}, ""},
	{"a timer below the mark", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) { p.group.Set(store.KeyMark, store.EncodeMark(nil, start.Unix()+1_000_000)) })
	}, []int{3}, ""},
}

var journalFaults = []fault{
	{"an event that is written twice", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			p.journal(w.first.Org, -1, func(e []ledger.Event) []ledger.Event {
				for i := len(e) - 1; ; i-- {
					if e[i].Entry == nil {
						twin := e[i]
						twin.Seq, twin.Booked = e[len(e)-1].Seq+1, e[len(e)-1].Booked+1
						return append(e, twin)
					}
				}
			})
		})
	}, []int{3, 4}, ""}, // the list shows the record as it was before
	{"nothing but blocks of another size", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) { p.journal(w.first.Org, -1, func(e []ledger.Event) []ledger.Event { return e }) })
	}, nil, ""},
	{"a skipped tree leaf", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) { p.journal(w.first.Org, 4, func(e []ledger.Event) []ledger.Event { return e }) })
	}, []int{5}, ""},
	{"a tree row without its crossing subtrees", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			keys, rows := p.rows(store.KeyTrees(nil, w.first.Org))
			for i := range rows {
				edge, crossing, err := store.DecodeTree(rows[i])
				if err != nil {
					t.Fatal(err)
				}
				if len(crossing) > 0 {
					p.group.Set(keys[i], store.EncodeTree(nil, edge, crossing[1:]))
				}
			}
		})
	}, []int{5}, ""},
	{"a block without its tree row", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) { p.deleteAll(store.KeyTrees(nil, w.second.Org)) })
	}, []int{5}, ""},
	{"a tree row without its block", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			p.group.Set(store.KeyTree(nil, w.second.Org, 9_999), store.EncodeTree(nil, nil, nil))
		})
	}, []int{5}, ""},
	{"a time that stands still", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			p.journal(w.first.Org, -1, func(e []ledger.Event) []ledger.Event {
				for i := range e {
					if e[i].Name == "route" { // neither the first of its record nor the last
						e[i].Booked = e[i-1].Booked
						break
					}
				}
				return e
			})
		})
	}, []int{5}, ""},
	{"a group lost in the middle", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			keys, rows := p.rows(store.KeyBlocks(nil, w.second.Org))
			p.group.Delete(keys[len(keys)/2])
			block, err := store.DecodeBlock(keys[len(keys)/2], rows[len(rows)/2])
			if err != nil {
				t.Fatal(err)
			}
			p.group.Delete(store.KeyTree(nil, w.second.Org, block.First))
		})
	}, []int{2, 3, 5}, ""}, // the lines and records of its events are still there
}

var callFaults = []fault{
	{"a call without an intent", func(t *testing.T, w *town) {
		w.log(t, func(lines []string) []string {
			return append(lines, strings.Replace(lines[0], w.charged.ID.String(), uuid.NewString(), 1))
		})
	}, []int{7}, ""},
	{"a call made twice", func(t *testing.T, w *town) {
		w.log(t, func(lines []string) []string { return append(lines, lines[0]) })
	}, []int{7}, ""},
	{"a charge that the record does not know", func(t *testing.T, w *town) {
		w.log(t, func(lines []string) []string {
			for i, line := range lines {
				if strings.Contains(line, w.refused.ID.String()) {
					lines[i] = strings.Replace(line, `"outcome":"refused"`, `"outcome":"charged"`, 1)
				}
			}
			return lines
		})
	}, []int{7}, ""},
	{"a log that is gone", func(t *testing.T, w *town) {
		if err := os.Remove(filepath.Join(w.dir, "simulator.log")); err != nil {
			t.Fatal(err)
		}
	}, []int{7}, ""},
	{"a line that was never finished", func(t *testing.T, w *town) {
		w.log(t, func(lines []string) []string {
			return append(lines[:len(lines)-1], lines[len(lines)-1], `{"reference":"`)
		})
	}, nil, ""},
}
