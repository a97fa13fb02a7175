package check_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	paymentactor "mizan/actors/payment"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/ledger/schema"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/fixture"
)

// changeFor returns the change that actors/payment submits for a decision. It counts the decision's transitions in the record,
// as for a merchant who has no address for notifications.
func changeFor(org ledger.ID, d *payment.Decision, version uint64, claims ...ledger.Claim) *posting.Change {
	for i := range d.Events {
		switch e := &d.Events[i]; {
		case !payment.Notifiable(e):
		case payment.NotifiedByDefault(payment.Status(e.To)):
			d.Record.UnnotifiedChanges++
		default:
			d.Record.UnselectedChanges++
		}
	}
	return changeWithoutCounts(org, d, version, claims...)
}

// changeWithoutCounts is changeFor without counting transitions.
func changeWithoutCounts(org ledger.ID, d *payment.Decision, version uint64, claims ...ledger.Claim) *posting.Change {
	list, also := payment.Lists.Of(d.Record)
	return &posting.Change{
		Author: ledger.BySystem.Author(),
		Funds:  d.Funds, Counters: d.Counters, MustRecord: d.MustRecord, Claims: claims,
		Steps: []posting.Step{{
			Org: org, Source: fixture.TransactionSource(d.Record.ID), Expect: version, Record: paymentcodec.Encode(d.Record),
			List: list, FurtherLists: also, Due: d.Due, Finish: d.IsFinal, Events: d.Events,
		}},
	}
}

// decisionFor returns a context for decisions, and a request for a payment with the txid.
func decisionFor(w *fixture.Store, txid string) (payment.DecisionContext, payment.Request) {
	return payment.DecisionContext{Org: w.FirstDemo.Org, Now: fixture.StartTime, InquiryTimeout: 10 * time.Second, ActionTTL: 30 * time.Minute}, payment.Request{
		Type: payment.Payment, TxID: txid, Amount: money.FromUint64(10_199), Asset: fixture.USD, Method: payment.BankCard,
		ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
	}
}

// txidClaim returns the claim on a transaction's txid.
func txidClaim(org ledger.ID, partner int64, r *payment.Record) ledger.Claim {
	return ledger.Claim{Org: org, Kind: ledger.ClaimTxID, Key: paymentactor.TxIDKey(partner, r.TxID), Owner: r.ID[:]}
}

// settlement returns a change that moves money between the bank and a partner, outside any transaction.
func settlement(org ledger.ID, partner int64, outgoing bool, amount uint64, effective ledger.Date) *posting.Change {
	id, reference := uuid.New(), "r-"+uuid.NewString()
	bankSide, partnerSide := ledger.Debit, ledger.Credit
	if outgoing {
		bankSide, partnerSide = partnerSide, bankSide
	}
	record := storedSettlement(&directory.Settlement{
		Partner: partner, Reference: reference, Outgoing: outgoing, Lines: []directory.SettlementLine{{Asset: fixture.USD, Amount: money.FromUint64(amount)}},
	})
	return &posting.Change{
		Author: ledger.BySystem.Author(),
		Claims: []ledger.Claim{{Org: org, Kind: ledger.ClaimSettlement, Key: fixture.SettlementKey(partner, reference), Owner: id[:]}},
		Steps: []posting.Step{{
			Org: org, Source: ledger.Source{Kind: ledger.Settlement, ID: id}, Record: record,
			List: directory.SettlementsWithBank.Of(partner, fixture.USD.Env),
			Events: []ledger.Event{{Name: "settle", To: "settled", Entry: &ledger.Entry{Phase: ledger.Posted, Effective: effective, Postings: []ledger.Posting{
				{Account: ledger.Bank, Asset: fixture.USD, Side: bankSide, Amount: money.FromUint64(amount)},
				{Account: ledger.PartnerAvailable(partner), Asset: fixture.USD, Side: partnerSide, Amount: money.FromUint64(amount)},
			}}}},
		}},
	}
}

// storedSettlement returns the stored form of a settlement.
func storedSettlement(n *directory.Settlement) []byte {
	stored, err := directory.Settlements.AppendStored(nil, n, schema.NoKeys)
	if err != nil {
		panic(err)
	}
	return stored
}

// markForced marks a change as an outcome, which the writer accepts even if funds are missing.
func markForced(c *posting.Change) *posting.Change {
	c.MustRecord = true
	return c
}

// fault is one fault, which make makes in a sound store, and the rules that report the fault.
type fault struct {
	name        string
	make        func(t *testing.T, w *fixture.Store)
	brokenRules []int
	want        string // text that every detail of the report must contain; empty: not checked
}

func TestEveryFaultBreaksOnlyItsRules(t *testing.T) {
	fixture.EachLayout(t, func(t *testing.T, copyStore func(testing.TB) *fixture.Store) {
		for _, list := range [][]fault{
			claimFaults, totalFaults, stateFaults, journalFaults, callFaults, // faults, by the rule that reports them
			entryFaults, intentFaults, termFaults, refundFaults, statusFaults, returnFaults, splitFaults, sealedFaults, keyFaults, operationFaults, settlementFaults, volumeFaults, attemptFaults,
		} {
			wantFaults(t, copyStore, list)
		}
	})
}

// wantFaults makes each fault in its own store and checks the report.
func wantFaults(t *testing.T, copyStore func(testing.TB) *fixture.Store, list []fault) {
	for _, f := range list {
		t.Run(f.name, func(t *testing.T) {
			w := copyStore(t)
			f.make(t, w)
			report := w.Check(t, check.Inputs{})
			fixture.WantBroken(t, report, f.brokenRules...)
			wantReason(t, report, f.brokenRules, f.want)
		})
	}
}

// unreadableRules are the rules that an unreadable record of the directory breaks. Rule 4 is one of them, because the
// record's claim can't be compared with its key.
var unreadableRules = []int{3, 4}

// wantReason is wantDetail, except if brokenRules is unreadableRules: then it checks only that rule 3 reports the
// text as the reason why the record can't be read.
func wantReason(t *testing.T, report *findings.Report, brokenRules []int, wantText string) {
	t.Helper()
	if !slices.Equal(brokenRules, unreadableRules) || wantText == "" {
		wantDetail(t, report, wantText)
		return
	}
	for _, detail := range report.Rules[findings.RuleStates-1].Details {
		if !strings.HasSuffix(detail, " can't be read: "+schema.ErrStored.Error()+": "+wantText) {
			t.Errorf("rule 3 says %q, want %q", detail, wantText)
		}
	}
}

// wantDetail checks that all details of a report contain a text.
func wantDetail(t *testing.T, report *findings.Report, wantText string) {
	t.Helper()
	for _, rule := range report.Rules {
		for _, detail := range rule.Details {
			if !strings.Contains(detail, wantText) {
				t.Errorf("rule %d says %q, want %q", rule.Number, detail, wantText)
			}
		}
	}
}

var claimFaults = []fault{
	{"two transactions with one txid", func(t *testing.T, w *fixture.Store) {
		decider, request := decisionFor(w, "twice")
		first, second := decider.Reject(uuid.New(), 1, request, payment.Failure{Code: payment.UnexpectedCard}), decider.Reject(uuid.New(), 1, request, payment.Failure{Code: payment.UnexpectedCard})
		w.Submit(t, changeFor(w.FirstDemo.Org, &first, 0, txidClaim(w.FirstDemo.Org, 1, first.Record)), changeFor(w.FirstDemo.Org, &second, 0))
	}, []int{4}, ""},
	{"a lost claim on a txid", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Delete(store.KeyClaim(nil, w.FirstDemo.Org, ledger.ClaimTxID, "1/order-2"))
		})
	}, []int{4}, ""},
	{"a claim on a txid that names nothing", func(t *testing.T, w *fixture.Store) {
		id := uuid.New()
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Set(store.KeyClaim(nil, w.FirstDemo.Org, ledger.ClaimTxID, "1/none"), id[:])
		})
	}, []int{4}, ""},
	{"a second claim on a transaction", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Set(store.KeyClaim(nil, w.FirstDemo.Org, ledger.ClaimTxID, "1/other"), w.ChargedPayment.ID[:])
		})
	}, []int{4}, ""},
	{"a lost claim on a login", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Delete(store.KeyClaim(nil, w.FirstDemo.Org, ledger.ClaimLogin, "other"))
		})
	}, []int{4}, ""},
	{"lost claims on hashes of keys", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) { p.DeleteAll(store.KeyClaims(nil, w.SecondDemo.Org, ledger.ClaimKeyHash)) })
	}, []int{4}, ""},
	{"a lost claim on a partner number", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) { p.Group.Delete(store.KeyClaim(nil, ledger.ID{}, ledger.ClaimNumber, "2")) })
	}, []int{4}, ""},
	{"a partner number that nobody has", func(t *testing.T, w *fixture.Store) {
		id := uuid.New()
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Set(store.KeyClaim(nil, ledger.ID{}, ledger.ClaimNumber, "77"), id[:])
		})
	}, []int{4}, ""},
	{"a settlement without its claim", func(t *testing.T, w *fixture.Store) {
		c := settlement(w.FirstDemo.Org, 1, false, 10, 0)
		c.Claims = nil
		w.Submit(t, c)
	}, []int{4}, ""},
	{"a transaction that no list shows", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			eraseAll(p, store.KeyListPages(nil, w.SecondDemo.Org, payment.Transactions.Of(2, money.Prod)))
		})
	}, []int{4}, ""},
	{"a transaction in another partner's list", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			row := store.ListRow{Booked: 5, ID: w.ChargedPayment.ID}
			p.Group.Set(store.KeyListPage(nil, w.FirstDemo.Org, payment.Transactions.Of(9, money.Prod), 5), store.EncodeListed(nil, row))
		})
	}, []int{4}, ""},
}

var totalFaults = []fault{
	{"a dropped line", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeLines(w.FirstDemo.Org, ledger.Account{Path: ledger.Fees, Asset: fixture.USD}, func(l []store.Line) []store.Line { return l[:len(l)-1] })
		})
	}, []int{2}, ""},
	{"a line of no event", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeLines(w.FirstDemo.Org, ledger.Account{Path: ledger.Fees, Asset: fixture.USD}, func(l []store.Line) []store.Line { return append(l, l[len(l)-1]) })
		})
	}, []int{2}, ""},
	{"an account of no event", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			l := store.Line{Seq: 1, Booked: 7, Side: ledger.Debit, Phase: ledger.Posted, Amount: money.FromUint64(1)}
			p.Group.Set(store.KeyPage(nil, w.FirstDemo.Org, ledger.Account{Path: "A:stray", Asset: fixture.USD}, 7), store.EncodeLine(nil, &l))
		})
	}, []int{2}, ""},
	{"an account without its pages", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.DeleteAll(store.KeyPages(nil, w.FirstDemo.Org, ledger.Account{Path: ledger.Fees, Asset: fixture.USD}))
		})
	}, []int{2}, ""},
	{"a running total rounded up", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeLines(w.FirstDemo.Org, ledger.Account{Path: ledger.Fees, Asset: fixture.USD}, func(l []store.Line) []store.Line {
				l[0].Totals.CreditsPosted, _ = l[0].Totals.CreditsPosted.Add(money.FromUint64(1))
				return l
			})
		})
	}, []int{2}, ""},
	{"a page at another time", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			keys, rows := p.Rows(store.KeyPages(nil, w.FirstDemo.Org, ledger.Account{Path: ledger.Fees, Asset: fixture.USD}))
			p.Group.Delete(keys[0])
			keys[0][len(keys[0])-1]--
			p.Group.Set(keys[0], rows[0])
		})
	}, []int{2}, ""},
	{"a dropped posting", func(t *testing.T, w *fixture.Store) { w.RewriteOpening(t, fixture.DropPosting) }, []int{2, 3}, ""}, // the entry also differs from the settlement's record
	{"an amount rounded up on one side", func(t *testing.T, w *fixture.Store) { w.RewriteOpening(t, fixture.RoundUp) }, []int{2, 3}, ""},
	{"a balance below its overdraft", func(t *testing.T, w *fixture.Store) {
		w.Submit(t, markForced(settlement(w.FirstDemo.Org, 3, true, 501, 0)))
	}, []int{2}, ""},
	{"a balance at its overdraft", func(t *testing.T, w *fixture.Store) {
		w.Submit(t, markForced(settlement(w.FirstDemo.Org, 3, true, 500, 0)))
	}, nil, ""},
	{"an overdraft that was lowered when it was in use", func(t *testing.T, w *fixture.Store) {
		w.Submit(t, markForced(settlement(w.FirstDemo.Org, 3, true, 500, 0)))
		server := fixture.Start(t, w)
		defer server.Close()
		if _, err := server.Directory.PatchPartner(t.Context(), w.FirstDemo.Org, 3, func(r *directory.Partner, _ *schema.Faults) { r.Overdraft = []directory.Overdraft{} }); err != nil {
			t.Fatal(err)
		}
	}, nil, ""},
	{"a balance below zero", func(t *testing.T, w *fixture.Store) {
		w.Submit(t, markForced(settlement(w.FirstDemo.Org, 1, true, 100_000_000_000, 0)))
	}, []int{2}, ""},
	{"a line by effective date that is gone", func(t *testing.T, w *fixture.Store) {
		w.Submit(t, settlement(w.FirstDemo.Org, 1, false, 10, ledger.DateOf(fixture.StartTime)-1))
		fixture.WantBroken(t, w.Check(t, check.Inputs{}))
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.DeleteAll(store.KeyShifts(nil, w.FirstDemo.Org, ledger.Account{Path: ledger.Bank, Asset: fixture.USD}))
		})
	}, []int{2}, ""},
	{"a line by another effective date", func(t *testing.T, w *fixture.Store) {
		w.Submit(t, settlement(w.FirstDemo.Org, 1, false, 10, ledger.DateOf(fixture.StartTime)-1))
		w.Corrupt(t, func(p *fixture.Corrupter) {
			a := ledger.Account{Path: ledger.Bank, Asset: fixture.USD}
			_, rows := p.Rows(store.KeyShifts(nil, w.FirstDemo.Org, a))
			p.Group.Set(store.KeyShifted(nil, w.FirstDemo.Org, a, 1, 1, 0), rows[0])
		})
	}, []int{2}, ""},
}

var stateFaults = []fault{
	{"a fee rounded up", func(t *testing.T, w *fixture.Store) {
		decider, request := decisionFor(w, "rounded")
		charge := decider.Create(uuid.New(), 1, request, &payment.Terms{
			Terminal: w.ChargedPayment.Terminal, Asset: fixture.USD, Fees: payment.Fees{Fixed: fixture.MustAdd(w.ChargedPayment.Fee, 1)}, Route: "another",
		})
		w.Submit(t, changeFor(w.FirstDemo.Org, &charge, 0, txidClaim(w.FirstDemo.Org, 1, charge.Record)))
		outcome, _ := decider.DecideProviderAnswer(charge.Record, payment.ProviderAnswer{Verdict: payment.VerdictCharged})
		w.Submit(t, changeFor(w.FirstDemo.Org, &outcome, 3))
	}, []int{3}, ""},
	{"an entry of another amount than its record", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeRecord(w.SecondDemo.Org, fixture.FirstTransaction(p, w.SecondDemo.Org), func(_ *store.RecordHeader, payload []byte) []byte {
				r, _ := paymentcodec.Decode(payload)
				r.Amount, r.AmountWithFee, r.DestAmount, r.MerchantAmount.Abs = fixture.MustAdd(r.Amount, 1), fixture.MustAdd(r.AmountWithFee, 1), fixture.MustAdd(r.DestAmount, 1), fixture.MustAdd(r.MerchantAmount.Abs, 1)
				return paymentcodec.Encode(r)
			})
		})
	}, []int{3}, ""},
	{"a status that no event led to", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeRecord(w.FirstDemo.Org, fixture.TransactionSource(w.DeclinedPayment.ID), func(_ *store.RecordHeader, payload []byte) []byte {
				r, _ := paymentcodec.Decode(payload)
				r.Status = payment.Failed
				return paymentcodec.Encode(r)
			})
		})
	}, []int{3}, ""},
	{"a partner switched off without an event", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			keys, _ := p.Rows(store.KeyRecords(nil, w.SecondDemo.Org, ledger.Partner))
			_, source, _ := store.ParseRecordKey(keys[0])
			p.ChangeColumn(w.SecondDemo.Org, source, "active", false)
		})
	}, []int{3}, ""},
	{"a version that no event led to", func(t *testing.T, w *fixture.Store) { w.RewriteHeader(t, func(e *store.RecordHeader) { e.Version++ }) }, []int{3}, ""},
	{"another time of creation", func(t *testing.T, w *fixture.Store) {
		w.RewriteHeader(t, func(e *store.RecordHeader) { e.StartedAt-- })
	}, []int{3}, ""},
	{"a hold that does not exist", func(t *testing.T, w *fixture.Store) {
		w.RewriteHeader(t, func(e *store.RecordHeader) { e.HeldSeq = 9 })
	}, []int{3}, ""},
	{"a settlement that does not exist", func(t *testing.T, w *fixture.Store) {
		w.RewriteHeader(t, func(e *store.RecordHeader) { e.SettledSeq = 9 })
	}, []int{3}, ""},
	{"a transaction without its record", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Delete(store.KeyRecord(nil, w.FirstDemo.Org, fixture.TransactionSource(w.DeclinedPayment.ID)))
		})
	}, []int{3, 4}, ""}, // rule 4, because the claim on its txid then names a missing record
	{"a record without events", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			_, rows := p.Rows(store.KeyRecord(nil, w.FirstDemo.Org, fixture.TransactionSource(w.DeclinedPayment.ID)))
			p.Group.Set(store.KeyRecord(nil, w.FirstDemo.Org, fixture.TransactionSource(uuid.New())), rows[0])
		})
	}, []int{3}, ""},
	{"a step that no machine has", func(t *testing.T, w *fixture.Store) {
		decider, request := decisionFor(w, "step")
		d := decider.Reject(uuid.New(), 1, request, payment.Failure{Code: payment.UnexpectedCard})
		d.Events[1].Name = "settle"
		d.Events[1].Entry = &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
			{Account: "A:bank", Asset: fixture.USD, Side: ledger.Debit, Amount: money.FromUint64(1)},
			{Account: "I:fees", Asset: fixture.USD, Side: ledger.Credit, Amount: money.FromUint64(1)},
		}}
		w.Submit(t, changeFor(w.FirstDemo.Org, &d, 0, txidClaim(w.FirstDemo.Org, 1, d.Record)))
	}, []int{3}, ""},
	{"money that moves without a state", func(t *testing.T, w *fixture.Store) {
		decider, request := decisionFor(w, "moves")
		d := decider.Reject(uuid.New(), 1, request, payment.Failure{Code: payment.UnexpectedCard})
		d.Events[0].Entry = &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
			{Account: "A:bank", Asset: fixture.USD, Side: ledger.Debit, Amount: money.FromUint64(1)},
			{Account: "I:fees", Asset: fixture.USD, Side: ledger.Credit, Amount: money.FromUint64(1)},
		}}
		w.Submit(t, changeFor(w.FirstDemo.Org, &d, 0, txidClaim(w.FirstDemo.Org, 1, d.Record)))
	}, []int{3}, ""},
	{"a state without its entry", func(t *testing.T, w *fixture.Store) {
		decider, request := decisionFor(w, "empty")
		d := decider.Create(uuid.New(), 1, request, &payment.Terms{Terminal: uuid.New(), Asset: fixture.USD})
		w.Submit(t, changeFor(w.FirstDemo.Org, &d, 0, txidClaim(w.FirstDemo.Org, 1, d.Record)))
		outcome, _ := decider.DecideProviderAnswer(d.Record, payment.ProviderAnswer{Verdict: payment.VerdictCharged})
		outcome.Events[1].Entry = nil
		w.Submit(t, changeFor(w.FirstDemo.Org, &outcome, 3))
	}, []int{3}, ""},
	{"more captured than was held", func(t *testing.T, w *fixture.Store) {
		decider, request := decisionFor(w, "more")
		request.Type = payment.Payout
		d := decider.Create(uuid.New(), 1, request, &payment.Terms{Terminal: uuid.New(), Asset: fixture.USD})
		w.Submit(t, changeFor(w.FirstDemo.Org, &d, 0, txidClaim(w.FirstDemo.Org, 1, d.Record)))
		outcome, _ := decider.DecideProviderAnswer(d.Record, payment.ProviderAnswer{Verdict: payment.VerdictCharged})
		for i := range outcome.Events[1].Entry.Postings {
			chargePosting := &outcome.Events[1].Entry.Postings[i]
			chargePosting.Amount = fixture.MustAdd(chargePosting.Amount, 1)
		}
		outcome.Record.Amount, outcome.Record.AmountWithFee, outcome.Record.DestAmount = fixture.MustAdd(request.Amount, 1), fixture.MustAdd(request.Amount, 1), fixture.MustAdd(request.Amount, 1)
		outcome.Record.MerchantAmount.Abs = outcome.Record.DestAmount
		w.Submit(t, changeFor(w.FirstDemo.Org, &outcome, 3))
	}, []int{3}, ""},
	{"a second return of one charge", func(t *testing.T, w *fixture.Store) {
		decider, _ := decisionFor(w, "")
		j := fixture.OpenJournal(t, w, clock.NewManual(fixture.StartTime), nil)
		view := j.View()
		stored, _, err := view.Record(w.FirstDemo.Org, fixture.TransactionSource(w.ReversedPayment.ID))
		view.Close()
		if err != nil || j.Close() != nil {
			t.Fatal(err)
		}
		original, err := paymentcodec.Decode(stored.Payload)
		if err != nil || original.Status != payment.Reversed {
			t.Fatalf("%+v, %v", original, err)
		}
		original.Status = payment.Charged
		d, ok := decider.DecideReversal(original, stored.Header.SettledSeq, uuid.New(), payment.Failure{})
		if !ok {
			t.Fatal("it can't be reversed")
		}
		w.Submit(t, changeFor(w.FirstDemo.Org, d.Return, 0))
	}, []int{3}, ""},
	{"a timer without its due row", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) { p.DeleteAll(store.KeyDues(nil)) })
	}, []int{3}, ""},
	{"a timer before the instant up to which timers were processed", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Set(store.KeyLowWaterMark, store.EncodeLowWaterMark(nil, fixture.StartTime.Unix()+1_000_000))
		})
	}, []int{3}, ""},
}

var journalFaults = []fault{
	{"an event that is written twice", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeJournal(w.FirstDemo.Org, -1, func(e []ledger.Event) []ledger.Event {
				for i := len(e) - 1; ; i-- {
					if e[i].Entry == nil {
						repeated := e[i]
						repeated.Seq, repeated.Booked = e[len(e)-1].Seq+1, e[len(e)-1].Booked+1
						return append(e, repeated)
					}
				}
			})
		})
	}, []int{3, 4}, ""}, // rule 4: no list has a row of the added event
	{"blocks of another size, which are no fault", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeJournal(w.FirstDemo.Org, -1, func(e []ledger.Event) []ledger.Event { return e })
		})
	}, nil, ""},
	{"a skipped tree leaf", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeJournal(w.FirstDemo.Org, 4, func(e []ledger.Event) []ledger.Event { return e })
		})
	}, []int{5}, ""},
	{"a tree row without its crossing subtrees", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			keys, rows := p.Rows(store.KeyTreeRows(nil, w.FirstDemo.Org))
			for i := range rows {
				edge, crossing, err := store.DecodeTree(rows[i])
				if err != nil {
					t.Fatal(err)
				}
				if len(crossing) > 0 {
					p.Group.Set(keys[i], store.EncodeTree(nil, edge, crossing[1:]))
				}
			}
		})
	}, []int{5}, ""},
	{"a block without its tree row", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) { p.DeleteAll(store.KeyTreeRows(nil, w.SecondDemo.Org)) })
	}, []int{5}, ""},
	{"a tree row without its block", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Set(store.KeyTreeRow(nil, w.SecondDemo.Org, 9_999), store.EncodeTree(nil, nil, nil))
		})
	}, []int{5}, ""},
	{"a time that stands still", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeJournal(w.FirstDemo.Org, -1, func(e []ledger.Event) []ledger.Event {
				for i := range e {
					if e[i].Name == "route" { // an event that is neither the first nor the last of its record
						e[i].Booked = e[i-1].Booked
						break
					}
				}
				return e
			})
		})
	}, []int{5}, ""},
	{"a block lost in the middle", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			keys, rows := p.Rows(store.KeyBlocks(nil, w.SecondDemo.Org))
			p.Group.Delete(keys[len(keys)/2])
			block, err := store.DecodeBlock(keys[len(keys)/2], rows[len(rows)/2])
			if err != nil {
				t.Fatal(err)
			}
			p.Group.Delete(store.KeyTreeRow(nil, w.SecondDemo.Org, block.First))
		})
	}, []int{2, 3, 4, 5}, ""}, // the lines, records and list rows of the removed events still exist
}
