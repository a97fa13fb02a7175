package contract

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
	"mizan/posting/store"
)

// Values that depend on the day are computed for the day of the request; a cached reply stays as it
// was.
func TestContractIsShownAsOfTheClocksDay(t *testing.T) {
	f := openFixture(t)
	created, err := f.service.Create(Create{Author: ledger.ByAdminToken.Author(), Org: f.org, Product: contract.InstalmentSale, Reading: contract.Secular, Env: money.Prod, Input: parseInput(t,
		`{"customer_id":"7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01","region":"AE","currency":"AED","asset_description":"A lorry of 12 t",`+
			`"asset_cost":"1000","markup_rate":20,"instalments":3}`)})
	if err != nil {
		t.Fatal(err)
	}
	request := ActionRequest{Author: ledger.ByAdminToken.Author(), Org: f.org, ID: created.Record.ID, Product: contract.InstalmentSale, Reading: contract.Secular}
	act := func(action contract.Action, body, key string) Result {
		t.Helper()
		if request.Action, request.Input = action, parseInput(t, body); key != "" {
			request.Key = actors.Key{Scope: actors.UserKeyScope, Text: key, Hash: [32]byte{1}}
		}
		r, err := f.service.Act(request)
		if err != nil {
			t.Fatal(action, err)
		}
		request.Key = actors.Key{}
		return r
	}
	wantDaysPastDue := func(r Result, want string) {
		t.Helper()
		if got := contract.FormatValue(column(t, r.Record, "days_past_due")); got != want {
			t.Errorf("%s days past due, want %s", got, want)
		}
	}
	act(contract.OrderAsset, "", "")
	act(contract.PurchaseAsset, `{"ownership_documents":["deed"]}`, "")
	act(contract.DeliverAsset, "", "")
	wantDaysPastDue(act(contract.Activate, "", ""), "0")
	readContract := func() Result {
		t.Helper()
		view := f.Journal.View()
		defer view.Close()
		r, found, err := Load(view, f.org, request.ID)
		if err != nil || !found {
			t.Fatal(found, err)
		}
		return r
	}
	for _, day := range []struct {
		days int
		want string
	}{{30, "0"}, {31, "1"}, {35, "5"}} {
		if err := f.Runtime.Advance(startTime.AddDate(0, 0, day.days)); err != nil {
			t.Fatal(err)
		}
		wantDaysPastDue(readContract(), day.want)
	}
	wantDaysPastDue(act(contract.RecordDelinquency, `{"amount":"7"}`, "k"), "5")
	if err := f.Runtime.Advance(startTime.AddDate(0, 0, 40)); err != nil {
		t.Fatal(err)
	}
	wantDaysPastDue(act(contract.RecordDelinquency, `{"amount":"7"}`, "k"), "5") // returns the cached reply
	wantDaysPastDue(readContract(), "10")
	wantDaysPastDue(act(contract.RecordPayment, `{"amount":"400"}`, ""), "0") // pays the overdue instalment
}

// A contract whose record has reached its largest size refuses a further gift. The refusal names the field to which the gift
// would be added, the list of gifts (hibah_history). The contract can still be closed, also with an idempotency key: its
// record never exceeds the writer's limit.
func TestFullContractRefusesGiftsAndCanBeClosed(t *testing.T) {
	if room := posting.MaxRecord - contract.MaxStored; room < posting.MaxRecord/4 {
		t.Fatalf("a full contract leaves room for %d bytes", room)
	}
	f := openFixture(t)
	f.Close()
	f.JournalOptions.Store.MemTable = store.DefaultMemTable // with the small MemTable of the fixture the writer would refuse gifts before the contract is full
	f.start()
	created, err := f.service.Create(Create{Author: ledger.ByAdminToken.Author(), Org: f.org, Product: contract.Safekeeping, Reading: contract.Secular, Env: money.Prod, Input: parseInput(t,
		depositBody[:len(depositBody)-1]+`,"metadata":{"x":"`+strings.Repeat("x", 64<<10-8)+`"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	id := created.Record.ID
	f.act(id, contract.Activate, "", "")
	gift := `{"amount":"1","granted_by":"` + strings.Repeat("𝄞", 255) + `","note":"` + strings.Repeat("𝄞", 2_000) + `"}`
	gifts := 0
	for full := false; !full; gifts++ {
		_, err := f.ask(id, contract.GrantHibah, gift, "gift "+strconv.Itoa(gifts))
		var faults *schema.Faults
		if full = errors.As(err, &faults); full && faults.List[0].Field != "hibah_history" || !full && err != nil {
			t.Fatalf("the gift %d: %v", gifts, err)
		}
	}
	f.act(id, contract.DepositMoney, `{"amount":"5"}`, "more")
	closed := f.act(id, contract.Close, `{"closed_by":"`+strings.Repeat("𝄞", 255)+`"}`, "close")
	if closed.Record.Status != contract.Closed || f.balance(closed) != "0" {
		t.Errorf("%s, with %s", closed.Record.Status, f.balance(closed))
	}
}
