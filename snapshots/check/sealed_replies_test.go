package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"mizan/actors"
	contractactor "mizan/actors/contract"
	directoryactor "mizan/actors/directory"
	paymentactor "mizan/actors/payment"
	subscriptionactor "mizan/actors/subscription"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/ledger/schema"
	"mizan/ledger/subscription"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/fixture"
)

// storeWithReplies is a store in which four requests had idempotency keys: the creation of a payment, of a contract
// and of a subscription, and a write of the administration. Each record that they created has changed since.
type storeWithReplies struct {
	*fixture.Store
	server        *fixture.Server
	contracts     *contractactor.Service
	subscriptions *subscriptionactor.Service
	replies       map[string]*keyedReply // kind of request → the cached reply to it
}

// keyedReply is the cached reply to a request with an idempotency key.
type keyedReply struct {
	keys    [][]byte               // keys of the rows that the server reads if the request is repeated
	repeat  func() (string, error) // repeats the request and returns the response as text
	showNow func() string          // returns a response with the record's current content; empty: there is no such response
}

// serve starts a server on the store. If wrapLog is not nil, it wraps the log to which the server's journal writes.
func (a *storeWithReplies) serve(wrapLog func(posting.Log) posting.Log) {
	a.server = fixture.StartWithLog(a.server.T, a.Store, wrapLog)
	a.contracts = contractactor.New(a.server.Runtime)
	a.subscriptions = subscriptionactor.New(subscriptionactor.Options{Runtime: a.server.Runtime, Payments: a.server.Payments, Directory: a.server.Directory})
}

// keyOf returns an idempotency key in the scope of the partner, of staff or of the administration.
func (a *storeWithReplies) keyOf(scope string) actors.Key {
	return actors.Key{Scope: scope, Text: "k", Hash: [32]byte{1}}
}

func (a *storeWithReplies) owner() *directory.Partner {
	owner, _ := a.server.Directory.Partner(a.FirstDemo.Org, a.FirstDemo.Partner)
	return owner
}

// textOfPayment returns all that a response shows, as text to compare. textOfContract and textOfSubscription are alike.
func textOfPayment(r paymentactor.Result, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x %v %v", paymentcodec.Encode(r.Record), r.Header, r.Replay), nil
}

func textOfContract(r contractactor.Result, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x %v %v", contract.AppendRecord(nil, r.Record), r.Header, r.Replay), nil
}

func textOfSubscription(r subscriptionactor.Result, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x %v %v", subscriptionactor.Encode(r.Record), r.Header, r.Replay), nil
}

func (a *storeWithReplies) pay() (paymentactor.Result, error) {
	return a.server.Payments.Create(paymentactor.Create{Author: ledger.ByPayer.Author(), Org: a.FirstDemo.Org, Partner: a.owner(), Key: a.keyOf(actors.PartnerKeyScope(a.FirstDemo.Partner)), Request: payment.Request{
		Type: payment.Payment, Amount: money.FromUint64(500), Asset: fixture.USD, Method: "e_wallet", ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
	}})
}

func (a *storeWithReplies) createContract() (contractactor.Result, error) {
	var input schema.Input
	fixture.Must(a.server.T, json.Unmarshal([]byte(`{"customer_id":"7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01","region":"AE","custody_type":"guaranteed","initial_amount":"1000"}`), &input))
	return a.contracts.Create(contractactor.Create{
		Author: ledger.ByAdminToken.Author(),
		Org:    a.FirstDemo.Org, Product: contract.Safekeeping, Reading: contract.Secular, Env: money.Prod, Input: input, Key: a.keyOf(actors.UserKeyScope),
	})
}

func (a *storeWithReplies) subscribe() (subscriptionactor.Result, error) {
	key := a.keyOf(actors.PartnerKeyScope(a.FirstDemo.Partner))
	key.Text = "s"
	return a.subscriptions.Create(subscriptionactor.Create{Author: ledger.ByAdminToken.Author(), Org: a.FirstDemo.Org, Partner: a.FirstDemo.Partner, Key: key, Terms: subscription.Terms{
		InitialPayment: a.ChargedPayment.ID, Amount: money.FromUint64(900), PeriodDays: 30,
	}, Refuse: func(field, detail string) { a.server.T.Fatal(field, detail) }})
}

func (a *storeWithReplies) renamePartner() error {
	name := "Changed"
	ctx := directoryactor.WithCachedReply(a.server.T.Context(), a.keyOf(actors.AdminKeyScope), func(any) directoryactor.CachedReply {
		return directoryactor.CachedReply{Status: 200, Body: []byte(`{"name":"Changed"}`)}
	})
	_, err := a.server.Directory.PatchPartner(ctx, a.FirstDemo.Org, a.FirstDemo.Partner, func(r *directory.Partner, _ *schema.Faults) { r.Name = name })
	return err
}

// newStoreWithReplies creates a store, makes the requests, changes the records that they created, and closes
// the store.
func newStoreWithReplies(t *testing.T) *storeWithReplies {
	t.Helper()
	a := &storeWithReplies{Store: fixture.Copy(t), server: &fixture.Server{T: t}}
	a.serve(nil)
	payResult, err := a.pay()
	fixture.Must(t, err)
	if payResult.Record.Status != payment.Charged {
		t.Fatalf("the payment is %s", payResult.Record.Status)
	}
	refunded := money.FromUint64(200)
	_, err = a.server.Payments.Refund(paymentactor.AmountCommand{Command: paymentactor.Command{Author: ledger.ByPayer.Author(), Org: a.FirstDemo.Org, Partner: a.FirstDemo.Partner, ID: payResult.Record.ID}, Amount: &refunded})
	fixture.Must(t, err)
	contractResult, err := a.createContract()
	fixture.Must(t, err)
	_, err = a.contracts.Act(contractactor.ActionRequest{Author: ledger.ByAdminToken.Author(), Org: a.FirstDemo.Org, ID: contractResult.Record.ID, Product: contract.Safekeeping, Reading: contract.Secular, Action: contract.Activate, Input: schema.Input{}})
	fixture.Must(t, err)
	subscriptionResult, err := a.subscribe()
	fixture.Must(t, err)
	_, err = a.subscriptions.Pause(subscriptionactor.Command{Author: ledger.ByAdminToken.Author(), Org: a.FirstDemo.Org, Partner: a.FirstDemo.Partner, ID: subscriptionResult.Record.ID})
	fixture.Must(t, err)
	fixture.Must(t, a.renamePartner())
	a.server.Close()

	staff, partner, admin := a.keyOf(actors.UserKeyScope), a.keyOf(actors.PartnerKeyScope(a.FirstDemo.Partner)), a.keyOf(actors.AdminKeyScope)
	record := func(kind ledger.Kind, id ledger.ID) []byte {
		return store.KeyRecord(nil, a.FirstDemo.Org, ledger.Source{Kind: kind, ID: id})
	}
	claim := func(org ledger.ID, key string) []byte { return store.KeyClaim(nil, org, ledger.ClaimIdempotency, key) }
	a.replies = map[string]*keyedReply{
		"a payment": {
			[][]byte{record(ledger.Reply, paymentactor.ReplyID(a.FirstDemo.Org, partner.ClaimKey())), claim(a.FirstDemo.Org, partner.ClaimKey())},
			func() (string, error) { return textOfPayment(a.pay()) },
			func() string {
				r, err := a.server.Payments.Read(a.FirstDemo.Org, a.FirstDemo.Partner, payResult.Record.ID)
				r.Replay = true
				text, err := textOfPayment(r, err)
				fixture.Must(t, err)
				return text
			},
		},
		"a contract": {
			[][]byte{record(ledger.Reply, contractactor.ReplyID(a.FirstDemo.Org, staff.ClaimKey())), claim(a.FirstDemo.Org, staff.ClaimKey())},
			func() (string, error) { return textOfContract(a.createContract()) },
			func() string {
				r, err := a.contracts.Read(a.FirstDemo.Org, contract.Safekeeping, contract.Secular, contractResult.Record.ID)
				r.Replay = true
				text, err := textOfContract(r, err)
				fixture.Must(t, err)
				return text
			},
		},
		"a subscription": {
			[][]byte{claim(a.FirstDemo.Org, actors.PartnerKeyScope(a.FirstDemo.Partner)+"/s")},
			func() (string, error) { return textOfSubscription(a.subscribe()) },
			func() string {
				r, err := a.subscriptions.Read(a.FirstDemo.Org, a.FirstDemo.Partner, subscriptionResult.Record.ID)
				r.Replay = true
				text, err := textOfSubscription(r, err)
				fixture.Must(t, err)
				return text
			},
		},
		"a write of the administration": {
			[][]byte{record(ledger.AdminReply, directory.CachedReplyID(admin.ClaimKey())), claim(directory.PlatformOrg, admin.ClaimKey())},
			func() (string, error) {
				answer, _, err := a.server.Directory.FindCachedReply(admin)
				return fmt.Sprintf("%d %s %d %d", answer.Status, answer.Body, answer.Booked, answer.Seq), err
			},
			func() string { return "" },
		},
	}
	return a
}

// The test changes the bytes of the cached replies, one at a time, and corrects the checksums. The checker finds each change
// without the keyring. A client that repeats the request gets the original reply, the record's current content or a refusal, and
// never anything else.
func TestChangedCachedReplyIsFoundAndNeverReturned(t *testing.T) {
	a := newStoreWithReplies(t)
	ins := &insider{t: t, rows: make(map[string][]rawRow)}
	a.serve(func(l posting.Log) posting.Log { ins.log = l; return l })
	defer func() { a.server.Close() }()
	ins.journal = a.server.Journal
	ins.read()
	step, start := 3, testseed.Random(t).IntN(3)
	if os.Getenv(testseed.SoakVariable) != "" {
		step = 1
	}
	t.Logf("every byte of %d from byte %d", step, start)
	for name, reply := range a.replies {
		original, err := reply.repeat()
		fixture.Must(t, err)
		current := reply.showNow()
		if original == current {
			t.Fatalf("%s: nothing has happened since the answer", name)
		}
		for _, key := range reply.keys {
			row := ins.row(key)
			alarms, changes, foundChanges := a.server.Runtime.RepliesUnreadable(), 0, 0
			outcomes := map[string]int{}
			for i := range row.value {
				if i%step != start%step { // this run skips the byte; another run tries it, and "make soak" tries all bytes
					continue
				}
				changed := rawRow{row.key, bytes.Clone(row.value)}
				changed.value[i] ^= 0x11
				changes++
				if ins.isDetected(row, changed) {
					foundChanges++
				} else {
					t.Errorf("%s: byte %d of %x may be changed", name, i, row.key)
				}
				ins.writeRows(changed)
				switch repeatedText, err := reply.repeat(); {
				case err == nil && repeatedText == original:
					outcomes["as it was"]++
				case err == nil && repeatedText == current:
					outcomes["as it stands"]++
				case ledger.IsRefusal(err, ledger.Conflict):
					outcomes["refused"]++
				default:
					t.Errorf("%s: byte %d: it is repeated as\n%s, %v, and was\n%s", name, i, repeatedText, err, original)
				}
			}
			ins.writeRows(row)
			t.Logf("%s: %d of %d changes found, repeated %v, %d alarms", name, foundChanges, changes, outcomes, a.server.Runtime.RepliesUnreadable()-alarms)
			if n := a.server.Runtime.RepliesUnreadable() - alarms; int(n) < outcomes["as it stands"] {
				t.Errorf("%s: %d alarms of %d answers that did not open", name, n, outcomes["as it stands"])
			}
		}
		if repeatedText, err := reply.repeat(); err != nil || repeatedText != original {
			t.Errorf("%s: put back, it is repeated as %s, %v", name, repeatedText, err)
		}
	}
}

// row returns a row as it was before the test changed rows.
func (ins *insider) row(key []byte) rawRow {
	ins.t.Helper()
	for _, row := range ins.rows[kindOfRow(key)] {
		if bytes.Equal(row.key, key) {
			return row
		}
	}
	ins.t.Fatalf("there is no row %x", key)
	return rawRow{}
}
