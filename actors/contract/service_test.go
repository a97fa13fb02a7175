package contract

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
)

var startTime = time.Date(2026, 9, 3, 10, 15, 30, 0, time.UTC)

// fixture is a service over a real journal.
type fixture struct {
	*testkit.World
	t       *testing.T
	org     ledger.ID
	service *Service
}

func openFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{World: testkit.NewWorld(t, startTime), t: t, org: uuid.New()}
	f.start()
	return f
}

// start opens the stored data and starts the service.
func (f *fixture) start() {
	f.t.Helper()
	f.Open()
	f.service = New(f.Runtime)
	f.Runtime.Start(func(posting.DueItem) bool { return false })
}

func parseInput(t *testing.T, body string) (input schema.Input) {
	t.Helper()
	if body == "" {
		return schema.Input{}
	}
	if err := json.Unmarshal([]byte(body), &input); err != nil {
		t.Fatal(err)
	}
	return input
}

const depositBody = `{"customer_id":"7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01","region":"AE","custody_type":"guaranteed","initial_amount":"1000"}`

// openDeposit makes an active safekeeping deposit.
func (f *fixture) openDeposit() ledger.ID {
	f.t.Helper()
	created, err := f.service.Create(Create{Author: ledger.ByAdminToken.Author(), Org: f.org, Product: contract.Safekeeping, Reading: contract.Secular, Env: money.Prod, Input: parseInput(f.t, depositBody)})
	if err != nil {
		f.t.Fatal(err)
	}
	f.act(created.Record.ID, contract.Activate, "", "")
	return created.Record.ID
}

// ask requests an action on a deposit; an empty key means a request without a key.
func (f *fixture) ask(id ledger.ID, action contract.Action, body, key string) (Result, error) {
	f.t.Helper()
	a := ActionRequest{Author: ledger.ByAdminToken.Author(), Org: f.org, ID: id, Product: contract.Safekeeping, Reading: contract.Secular, Action: action, Input: parseInput(f.t, body)}
	if key != "" {
		a.Key = actors.Key{Scope: actors.UserKeyScope, Text: key, Hash: [32]byte{1}}
	}
	return f.service.Act(a)
}

func (f *fixture) act(id ledger.ID, action contract.Action, body, key string) Result {
	f.t.Helper()
	r, err := f.ask(id, action, body, key)
	if err != nil {
		f.t.Fatalf("%s: %v", action, err)
	}
	return r
}

func (f *fixture) balance(r Result) string {
	f.t.Helper()
	for _, c := range r.Record.Product.Columns.Columns {
		if c.Name == "balance" {
			return contract.FormatValue(c.Value(r.Record.Values))
		}
	}
	f.t.Fatal("there is no balance")
	return ""
}

// withStaleActor returns a registry whose actor has loaded the contract's current state, so that later writes
// make the actor's state stale.
func (f *fixture) withStaleActor(id ledger.ID) (*actors.Registry[actors.RecordKey], actors.RecordKey, *contractActor) {
	f.t.Helper()
	key := actors.RecordKey{Org: f.org, ID: id}
	staleActor := &contractActor{service: f.service, key: key}
	if !staleActor.load() {
		f.t.Fatal("there is no contract")
	}
	return actors.NewRegistry(f.Runtime, "late", 0, func(actors.RecordKey) actors.Behaviour { return staleActor }), key, staleActor
}

// If the writer refuses a Change because the record has a newer version, the decision is made again on the stored state
// (invariant 1 in doc.go).
func TestDecisionIsRepeatedAfterAConcurrentWrite(t *testing.T) {
	f := openFixture(t)
	id := f.openDeposit()
	for _, c := range []struct{ withdrawnMeanwhile, requested, wantBalance string }{{"900", "101", ""}, {"1", "99", "0"}} {
		registry, key, _ := f.withStaleActor(id)
		f.act(id, contract.Withdraw, `{"amount":"`+c.withdrawnMeanwhile+`"}`, "")
		m := &actionMessage{ActionRequest: ActionRequest{
			Author: ledger.ByAdminToken.Author(),
			Org:    f.org, ID: id, Product: contract.Safekeeping, Reading: contract.Secular, Action: contract.Withdraw, Input: parseInput(t, `{"amount":"`+c.requested+`"}`),
		}}
		if err := registry.Command(key, m); err != nil {
			t.Fatal(err)
		}
		r, _ := m.Wait(time.Now().Add(time.Minute))
		var faults *schema.Faults
		switch {
		case c.wantBalance == "" && (!errors.As(r.err, &faults) || faults.List[0].Field != "amount"):
			t.Errorf("a withdrawal of more than is left was not refused: %v", r.err)
		case c.wantBalance != "" && (r.err != nil || f.balance(r.result) != c.wantBalance):
			t.Errorf("a withdrawal of what is left was refused: %v", r.err)
		}
	}
}

// A due date is handled once, even if an actor with a stale state gets a message about it (invariant 4 in doc.go).
func TestDueDateIsHandledOnce(t *testing.T) {
	f := openFixture(t)
	created, err := f.service.Create(Create{Author: ledger.ByAdminToken.Author(), Org: f.org, Product: contract.Lease, Reading: contract.Secular, Env: money.Prod, Input: parseInput(t,
		`{"customer_id":"7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01","region":"AE","lease_type":"operating","asset_description":"A lorry of 12 t",`+
			`"asset_cost":"1200","lease_term_months":12,"monthly_rental":"100"}`)})
	if err != nil {
		t.Fatal(err)
	}
	request := ActionRequest{Author: ledger.ByAdminToken.Author(), Org: f.org, ID: created.Record.ID, Product: contract.Lease, Reading: contract.Secular}
	for _, step := range []struct {
		action contract.Action
		body   string
	}{{contract.Acquire, `{"ownership_documents":["deed"]}`}, {contract.Activate, ""}} {
		if request.Action, request.Input = step.action, parseInput(t, step.body); err == nil {
			_, err = f.service.Act(request)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	registry, key, staleActor := f.withStaleActor(request.ID)
	due := staleActor.header.Due
	if err := f.Runtime.Advance(due.Time()); err != nil { // the first date of the schedule falls due
		t.Fatal(err)
	}
	registry.Tell(key, actors.Due{Key: key, At: due})
	m := &actionMessage{ActionRequest: request}
	m.Action, m.Input = contract.PayRent, parseInput(t, `{"amount":"30"}`)
	if err := registry.Command(key, m); err != nil { // the actor receives the message after the due date
		t.Fatal(err)
	}
	r, _ := m.Wait(time.Now().Add(time.Minute))
	if r.err != nil || r.result.Header.Version != 5 {
		t.Fatalf("%+v, %v: want creation, two steps, one row and a payment", r.result.Header, r.err)
	}
}

// A repeated request gets the first request's reply, even if the contract has changed since. Another request with the same
// key is refused (invariant 2 in doc.go).
func TestRepeatedRequestGetsTheFirstReply(t *testing.T) {
	f := openFixture(t)
	id := f.openDeposit()
	first := f.act(id, contract.DepositMoney, `{"amount":"5"}`, "k")
	f.act(id, contract.DepositMoney, `{"amount":"7"}`, "")
	f.act(id, contract.Close, `{"closed_by":"teller"}`, "")
	repeated := f.act(id, contract.DepositMoney, `{"amount":"5"}`, "k")
	firstStamp, repeatedStamp := first.Header, repeated.Header
	sameStamp := firstStamp.StartedAt == repeatedStamp.StartedAt && firstStamp.UpdatedAt == repeatedStamp.UpdatedAt && firstStamp.Version == repeatedStamp.Version && firstStamp.Number == repeatedStamp.Number
	if !repeated.Replay || first.Replay || f.balance(repeated) != "1005" || !sameStamp || repeated.Record.Status != contract.Active {
		t.Errorf("first %+v, again %+v", first, repeated)
	}
	other := ActionRequest{Author: ledger.ByAdminToken.Author(), Org: f.org, ID: id, Product: contract.Safekeeping, Reading: contract.Secular, Action: contract.DepositMoney, Input: parseInput(t, `{"amount":"6"}`),
		Key: actors.Key{Scope: actors.UserKeyScope, Text: "k", Hash: [32]byte{2}}}
	if _, err := f.service.Act(other); !ledger.IsRefusal(err, ledger.Conflict) {
		t.Errorf("another request with the key: %v", err)
	}
}

// In another reading or product a contract is unknown (invariant 3 in doc.go).
func TestContractIsFoundInItsReadingAndProductOnly(t *testing.T) {
	f := openFixture(t)
	id := f.openDeposit()
	for _, c := range []struct {
		org     ledger.ID
		product *contract.Product
		reading *contract.Reading
		known   bool
	}{
		{f.org, contract.Safekeeping, contract.Secular, true}, {f.org, contract.Safekeeping, contract.Religious, false},
		{f.org, contract.Lease, contract.Secular, false}, {uuid.New(), contract.Safekeeping, contract.Secular, false},
	} {
		_, err := f.service.Read(c.org, c.product, c.reading, id)
		_, actErr := f.service.Act(ActionRequest{Author: ledger.ByAdminToken.Author(), Org: c.org, ID: id, Product: c.product, Reading: c.reading, Action: contract.GrantHibah, Input: parseInput(t, `{"amount":"1","granted_by":"b"}`)})
		if (err == nil) != c.known || (actErr == nil) != c.known || !c.known && (!ledger.IsRefusal(err, ledger.NotFound) || !ledger.IsRefusal(actErr, ledger.NotFound)) {
			t.Errorf("%v %v: read %v, acted %v", c.product.Variants[c.reading], c.known, err, actErr)
		}
	}
}

// Each organization has its own numbers of contracts, and a refused creation uses no number (invariant 6 in doc.go).
func TestEachOrganizationHasItsOwnNumbers(t *testing.T) {
	f := openFixture(t)
	for _, org := range []ledger.ID{f.org, uuid.New()} {
		for n := uint64(1); n <= 3; n++ {
			if _, err := f.service.Create(Create{Author: ledger.ByAdminToken.Author(), Org: org, Product: contract.Safekeeping, Reading: contract.Secular, Env: money.Test, Input: parseInput(t, "{}")}); err == nil {
				t.Error("a contract was made from an empty request")
			}
			created, err := f.service.Create(Create{Author: ledger.ByAdminToken.Author(), Org: org, Product: contract.Safekeeping, Reading: contract.Secular, Env: money.Test, Input: parseInput(t, depositBody)})
			if err != nil {
				t.Fatal(err)
			}
			if got := created.Record.Number(created.Header.StartedAt, created.Header.Number); created.Header.Number != n || !strings.HasPrefix(got, "SD-2026-00000") {
				t.Errorf("number %d is %s", n, got)
			}
		}
		view := f.Journal.View()
		inTest, err := Count(view, org, contract.Safekeeping, contract.Secular, money.Test)
		inProd, _ := Count(view, org, contract.Safekeeping, contract.Secular, money.Prod)
		view.Close()
		if err != nil || inTest != 3 || inProd != 0 {
			t.Errorf("%d and %d are counted, %v", inTest, inProd, err)
		}
	}
}
