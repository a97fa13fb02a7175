package api_test

import (
	"fmt"
	"math/big"
	"mizan/internal/testseed"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
)

const (
	partnersSettlements = "/api/v1/partners/1/settlements"

	settlementBody         = `{"direction":"in","amount":"250","currency":"USD","env":"test","reference":"wire"}`
	providerSettlementBody = `{"gross":"1000","fee":"30","currency":"USD","env":"test","reference":"week"}`
)

// paymentTerminal returns the ID of the first partner's terminal for test payments.
func (f *fixture) paymentTerminal() string {
	f.t.Helper()
	terminals := f.admin().get("/api/v1/terminals?partner_id=1").want(200, "")
	for i := range terminals.rows() {
		row := fmt.Sprintf("data.%d.", i)
		if terminals.at(row+"env") == "test" && terminals.at(row+"type") == "payment" {
			return terminals.at(row + "id")
		}
	}
	f.t.Fatalf("%s", terminals.body)
	return ""
}

// counterValue returns the value of one of the first organization's counters in the ledger, by its key.
func (f *fixture) counterValue(key string) string {
	f.t.Helper()
	view := f.Journal.View()
	defer view.Close()
	amount, err := view.Counter(f.seed.First.Org, key, "")
	must(f.t, err)
	return amount.String()
}

func TestSettlementSurvivesARestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	terminal := f.paymentTerminal()
	settlement := f.admin().post(partnersSettlements, settlementBody).want(201, "")
	providerSettlement := f.admin().post("/api/v1/terminal/"+terminal+"/settlements", providerSettlementBody).want(201, "")
	partnerList, providerList := f.admin().get(partnersSettlements+"?env=test").want(200, ""), f.admin().get("/api/v1/terminal/"+terminal+"/settlements?env=test").want(200, "")
	if partnerList.rows() != 1 || partnerList.at("data.0.id") != settlement.at("data.id") || providerList.rows() != 1 || providerList.at("data.0.id") != providerSettlement.at("data.id") {
		t.Errorf("%s %s", partnerList.body, providerList.body)
	}
	f.restart()
	f.admin().get(partnersSettlements+"?env=test").want(200, partnerList.body)
	f.admin().get("/api/v1/terminal/"+terminal+"/settlements?env=test").want(200, providerList.body)
	f.admin().get("/api/v1/settlements/"+settlement.at("data.id")).want(200, settlement.body)
	if repeated := f.admin().post(partnersSettlements, settlementBody).want(201, settlement.body); !repeated.isReplay() {
		t.Error("after a restart the reference is free")
	}
}

// Each settlement adds its amount, whatever its direction, to the headroom counter of its asset. The counter has a maximum
// and no account's total exceeds it, so no total can overflow. A refused settlement does not change the counter.
func TestSettlementCountsTowardsTheOverflowBound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const headroomKey = "headroom/test/USD/"
	before := f.counterValue(headroomKey)
	f.admin().post(partnersSettlements, settlementBody).want(201, "")
	f.admin().post(partnersSettlements, settlementBody).want(201, "")
	f.admin().post(partnersSettlements, `{"direction":"out","amount":"50","currency":"USD","env":"test","reference":"out"}`).want(201, "")
	f.admin().post("/api/v1/terminal/"+f.paymentTerminal()+"/settlements", providerSettlementBody).want(201, "")
	f.admin().post(partnersSettlements, `{"direction":"out","amount":"9999999999","currency":"USD","env":"test","reference":"short"}`).want(422, "")
	total, _ := new(big.Int).SetString(before, 10)
	if want := total.Add(total, big.NewInt(250+50+1000)).String(); f.counterValue(headroomKey) != want {
		t.Errorf("it stands at %s, want %s", f.counterValue(headroomKey), want)
	}
}

func TestSettlementKeyAndReferenceAreEachUsedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.admin().keyed("k").post(partnersSettlements, settlementBody).want(201, "")
	if first.isReplay() || first.at("data.seq") == "0" {
		t.Errorf("%s", first.body)
	}
	// The reference was used before, so nothing changes and the key stays unused.
	if repeated := f.admin().keyed("other").post(partnersSettlements, settlementBody).want(201, first.body); !repeated.isReplay() {
		t.Error("the reference was free")
	}
	f.admin().keyed("other").post("/api/v1/partners", `{"name":"New","login":"new","pass":"nine-Lions-paint"}`).want(201, "")
	f.admin().keyed("k").post(partnersSettlements, settlementBody+" ").want(409, keyConflict)
	// Now the key "other" belongs to another request. That conflict is found before the reference is looked up.
	f.admin().keyed("other").post(partnersSettlements, settlementBody).want(409, keyConflict)
}

func TestConcurrentSettlementsWithOneKeyAndReferenceAreBookedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	before := f.events()
	responses := make([]*response, 32)
	var wg sync.WaitGroup
	for i := range responses {
		c := f.admin()
		if i%2 == 0 {
			c = c.keyed("k")
		}
		wg.Go(func() { responses[i] = c.post(partnersSettlements, settlementBody) })
	}
	wg.Wait()
	bookedCount := 0
	for _, a := range responses {
		if a.want(201, responses[0].body).isReplay() {
			continue
		}
		bookedCount++
	}
	eventsAfter, _ := strconv.Atoi(f.events())
	if eventsBefore, _ := strconv.Atoi(before); bookedCount != 1 || eventsAfter < eventsBefore+1 || eventsAfter > eventsBefore+2 { // storing the reply under the idempotency key may be a second event
		t.Errorf("%d were booked, %d events after %d", bookedCount, eventsAfter, eventsBefore)
	}
}

func TestProviderSettlementsExcludeThePartnersOtherTerminals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	idleTerminal := f.paymentTerminal()
	busyTerminal := f.admin().post("/api/v1/terminal", `{"name":"busy","partner_id":1,"provider":"simulator","type":"payment","env":"test"}`).at("data.id")
	settle := func(terminal, reference string) string {
		return f.admin().post("/api/v1/terminal/"+terminal+"/settlements", `{"gross":"10","fee":"1","currency":"USD","env":"test","reference":"`+reference+`"}`).want(201, "").at("data.id")
	}
	oldest := settle(idleTerminal, "oldest")
	const newerSettlements = 510 // more than the server examines for one page
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := worker; i < newerSettlements; i += 8 {
				settle(busyTerminal, strconv.Itoa(i))
			}
		})
	}
	wg.Wait()
	path := "/api/v1/terminal/" + idleTerminal + "/settlements?env=test"
	if page := f.admin().get(path).want(200, ""); page.rows() != 0 || page.at("cursor.cursor_value") == "null" {
		t.Errorf("it looks at more: %s", page.body)
	}
	if ids := columnOfPages(t, f.admin(), path, 50, "id"); len(ids) != 1 || ids[0] != oldest {
		t.Errorf("%v, want %s", ids, oldest)
	}
	seen := make(map[string]bool)
	for _, id := range columnOfPages(t, f.admin(), "/api/v1/terminal/"+busyTerminal+"/settlements?env=test", 100, "id") {
		seen[id] = true
	}
	if len(seen) != newerSettlements {
		t.Errorf("%d are listed, want %d", len(seen), newerSettlements)
	}
}

func TestSettlementRouteDoesNotFindOtherRecords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, id := range []string{f.chargedPayment(), f.paymentTerminal(), uuid.NewString(), "x", "1"} {
		f.admin().get("/api/v1/settlements/"+id).want(404, "")
	}
}

// After random payments and settlements a partner's available balance, its debt and the provider's
// debt equal those of a naive computation.
func TestSettlementsAddUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	random := testseed.Random(t)
	partnerID := f.admin().post("/api/v1/partners", `{"name":"Sums","login":"sums","pass":"nine-Lions-paint"}`).want(201, "").at("id")
	key := f.admin().post("/api/v1/api_keys", `{"name":"k","partner_id":`+partnerID+`}`).want(201, "").at("key")
	terminalID := f.admin().post("/api/v1/terminal", `{"name":"T","partner_id":`+partnerID+`,"provider":"simulator","type":"payment","env":"test",`+
		`"provider_params":{"fee_fixed":"300"}}`).want(201, "").at("data.id")
	merchant := f.partner().with("x-api-key", key)
	available, debt, providerDebt := 0, 0, 0
	for i := range 60 {
		amount := 1 + random.IntN(500)
		switch random.IntN(4) {
		case 0: // a payment; its fee may be more than its amount
			merchant.post(transactions, paymentBody(fmt.Sprintf(`"currency":"USD","amount":"%d"`, amount))).want(201, "")
			providerDebt += amount
			available, debt = applyAmount(available, debt, amount-300)
		case 1:
			f.admin().post("/api/v1/partners/"+partnerID+"/settlements", fmt.Sprintf(`{"direction":"in","amount":"%d","currency":"USD","env":"test","reference":"%d"}`, amount, i)).want(201, "")
			available, debt = applyAmount(available, debt, amount)
		case 2:
			status := 201
			if amount > available {
				status = 422
			}
			f.admin().post("/api/v1/partners/"+partnerID+"/settlements", fmt.Sprintf(`{"direction":"out","amount":"%d","currency":"USD","env":"test","reference":"%d"}`, amount, i)).want(status, "")
			if status == 201 {
				available -= amount
			}
		case 3:
			f.admin().post("/api/v1/terminal/"+terminalID+"/settlements", fmt.Sprintf(`{"gross":"%d","fee":"%d","currency":"USD","env":"test","reference":"%d"}`, amount, random.IntN(amount+1), i)).want(201, "")
			providerDebt -= amount
		}
	}
	for path, want := range map[string]int{
		"L:partner:" + partnerID + ":available": available, "A:partner:" + partnerID + ":receivable": debt, "A:provider:" + terminalID: providerDebt,
	} {
		if got := f.balanceOf(path); got != strconv.Itoa(want) {
			t.Errorf("%s is at %s, want %d", path, got, want)
		}
	}
}

// applyAmount returns a partner's available balance and debt after an amount came in or, if the amount
// is negative, went out.
func applyAmount(available, debt, amount int) (int, int) {
	if amount >= 0 {
		paid := min(debt, amount)
		return available + amount - paid, debt - paid
	}
	taken := min(max(available, 0), -amount)
	return available - taken, debt - amount - taken
}

func (f *fixture) balanceOf(path string) string {
	f.t.Helper()
	r := f.auditor().get(ledgerPath+"/accounts?env=test&currency=USD&prefix="+path).want(200, "")
	if r.rows() == 0 {
		return "0"
	}
	return r.at("data.0.balance")
}

func TestUnsupportedCurrenciesOfSettlementsAreNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	longCurrency := strings.Repeat("X", 100)
	r := f.admin().post(partnersSettlements, strings.Replace(settlementBody, `"USD"`, `"`+longCurrency+`"`, 1)).want(422, "")
	if r.at("errors.0.field") != "currency" || r.at("errors.0.detail") != "unsupported currency "+strings.Repeat("X", 32) {
		t.Errorf("%s", r.body)
	}
	f.admin().post(partnersSettlements, `{"direction":"in","direction":"out"}`).want(400, "")
	f.admin().post(partnersSettlements, `[]`).want(422, "")
}
