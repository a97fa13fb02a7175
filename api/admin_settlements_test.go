package api_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
)

const (
	partnersSettlements = "/api/v1/partners/1/settlements"

	settledIn = `{"direction":"in","amount":"250","currency":"USD","env":"test","reference":"wire"}`
	collected = `{"gross":"1000","fee":"30","currency":"USD","env":"test","reference":"week"}`
)

// collectingTerminal returns a terminal of the first partner in env test.
func (f *fixture) collectingTerminal() string {
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

// counter returns the value of a counter.
func (f *fixture) counter(key string) string {
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
	terminal := f.collectingTerminal()
	settlement := f.admin().post(partnersSettlements, settledIn).want(201, "")
	other := f.admin().post("/api/v1/terminal/"+terminal+"/settlements", collected).want(201, "")
	own, provider := f.admin().get(partnersSettlements+"?env=test").want(200, ""), f.admin().get("/api/v1/terminal/"+terminal+"/settlements?env=test").want(200, "")
	if own.rows() != 1 || own.at("data.0.id") != settlement.at("data.id") || provider.rows() != 1 || provider.at("data.0.id") != other.at("data.id") {
		t.Errorf("%s %s", own.body, provider.body)
	}
	f.restart()
	f.admin().get(partnersSettlements+"?env=test").want(200, own.body)
	f.admin().get("/api/v1/terminal/"+terminal+"/settlements?env=test").want(200, provider.body)
	f.admin().get("/api/v1/settlements/"+settlement.at("data.id")).want(200, settlement.body)
	if again := f.admin().post(partnersSettlements, settledIn).want(201, settlement.body); !again.isReplay() {
		t.Error("after a restart the reference is free")
	}
}

func TestSettlementCountsTowardsTheLargestTotal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const usd = "headroom/test/USD/"
	before := f.counter(usd)
	f.admin().post(partnersSettlements, settledIn).want(201, "")
	f.admin().post(partnersSettlements, settledIn).want(201, "")
	f.admin().post(partnersSettlements, `{"direction":"out","amount":"50","currency":"USD","env":"test","reference":"out"}`).want(201, "")
	f.admin().post("/api/v1/terminal/"+f.collectingTerminal()+"/settlements", collected).want(201, "")
	f.admin().post(partnersSettlements, `{"direction":"out","amount":"9999999999","currency":"USD","env":"test","reference":"short"}`).want(422, "")
	first, _ := new(big.Int).SetString(before, 10)
	if want := first.Add(first, big.NewInt(250+50+1000)).String(); f.counter(usd) != want {
		t.Errorf("it stands at %s, want %s", f.counter(usd), want)
	}
}

func TestSettlementKeyAndReferenceAreEachUsedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.admin().keyed("k").post(partnersSettlements, settledIn).want(201, "")
	if first.isReplay() || first.at("data.seq") == "0" {
		t.Errorf("%s", first.body)
	}
	// The reference was used before, so nothing changes and the key stays unused.
	if again := f.admin().keyed("other").post(partnersSettlements, settledIn).want(201, first.body); !again.isReplay() {
		t.Error("the reference was free")
	}
	f.admin().keyed("other").post("/api/v1/partners", `{"name":"New","login":"new","pass":"nine-Lions-paint"}`).want(201, "")
	f.admin().keyed("k").post(partnersSettlements, settledIn+" ").want(409, keyConflict)
	// A used key is checked before the reference.
	f.admin().keyed("other").post(partnersSettlements, settledIn).want(409, keyConflict)
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
		wg.Go(func() { responses[i] = c.post(partnersSettlements, settledIn) })
	}
	wg.Wait()
	firstResponses := 0
	for _, a := range responses {
		if a.want(201, responses[0].body).isReplay() {
			continue
		}
		firstResponses++
	}
	after, _ := strconv.Atoi(f.events())
	if begun, _ := strconv.Atoi(before); firstResponses != 1 || after < begun+1 || after > begun+2 { // the reply that is stored with the key, if the first request had it, is one more event
		t.Errorf("%d were booked, %d events after %d", firstResponses, after, begun)
	}
}

func TestProviderSettlementsExcludeThePartnersOtherTerminals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	idleTerminal := f.collectingTerminal()
	busy := f.admin().post("/api/v1/terminal", `{"name":"busy","partner_id":1,"provider":"simulator","type":"payment","env":"test"}`).at("data.id")
	settle := func(terminal, reference string) string {
		return f.admin().post("/api/v1/terminal/"+terminal+"/settlements", `{"gross":"10","fee":"1","currency":"USD","env":"test","reference":"`+reference+`"}`).want(201, "").at("data.id")
	}
	oldest := settle(idleTerminal, "oldest")
	const newerTransactions = 510 // more than one page examines
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := worker; i < newerTransactions; i += 8 {
				settle(busy, strconv.Itoa(i))
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
	for _, id := range columnOfPages(t, f.admin(), "/api/v1/terminal/"+busy+"/settlements?env=test", 100, "id") {
		seen[id] = true
	}
	if len(seen) != newerTransactions {
		t.Errorf("%d are listed, want %d", len(seen), newerTransactions)
	}
}

func TestSettlementRouteDoesNotFindOtherRecords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, id := range []string{f.chargedPayment(), f.collectingTerminal(), uuid.NewString(), "x", "1"} {
		f.admin().get("/api/v1/settlements/"+id).want(404, "")
	}
}

// A partner's available balance and debt after any settlements, payments and payouts equal
// those of a naive computation.
func TestSettlementsAddUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	random := newRandom(t)
	partner := f.admin().post("/api/v1/partners", `{"name":"Sums","login":"sums","pass":"nine-Lions-paint"}`).want(201, "").at("id")
	key := f.admin().post("/api/v1/api_keys", `{"name":"k","partner_id":`+partner+`}`).want(201, "").at("key")
	terminal := f.admin().post("/api/v1/terminal", `{"name":"T","partner_id":`+partner+`,"provider":"simulator","type":"payment","env":"test",`+
		`"provider_params":{"fee_fixed":"300"}}`).want(201, "").at("data.id")
	merchant := f.partner().with("x-api-key", key)
	available, owed, provider := 0, 0, 0
	for i := range 60 {
		amount := 1 + random.IntN(500)
		switch random.IntN(4) {
		case 0: // a payment; its fee may be more than its amount
			merchant.post(transactions, paymentBody(fmt.Sprintf(`"currency":"USD","amount":"%d"`, amount))).want(201, "")
			provider += amount
			available, owed = applyAmount(available, owed, amount-300)
		case 1:
			f.admin().post("/api/v1/partners/"+partner+"/settlements", fmt.Sprintf(`{"direction":"in","amount":"%d","currency":"USD","env":"test","reference":"%d"}`, amount, i)).want(201, "")
			available, owed = applyAmount(available, owed, amount)
		case 2:
			status := 201
			if amount > available {
				status = 422
			}
			f.admin().post("/api/v1/partners/"+partner+"/settlements", fmt.Sprintf(`{"direction":"out","amount":"%d","currency":"USD","env":"test","reference":"%d"}`, amount, i)).want(status, "")
			if status == 201 {
				available -= amount
			}
		case 3:
			f.admin().post("/api/v1/terminal/"+terminal+"/settlements", fmt.Sprintf(`{"gross":"%d","fee":"%d","currency":"USD","env":"test","reference":"%d"}`, amount, random.IntN(amount+1), i)).want(201, "")
			provider -= amount
		}
	}
	for path, want := range map[string]int{
		"L:partner:" + partner + ":available": available, "A:partner:" + partner + ":receivable": owed, "A:provider:" + terminal: provider,
	} {
		if got := f.balanceOf(path); got != strconv.Itoa(want) {
			t.Errorf("%s is at %s, want %d", path, got, want)
		}
	}
}

// applyAmount returns the available and owed amounts after the amount came in, or went out if
// it is negative.
func applyAmount(available, owed, amount int) (int, int) {
	if amount >= 0 {
		paid := min(owed, amount)
		return available + amount - paid, owed - paid
	}
	taken := min(max(available, 0), -amount)
	return available - taken, owed - amount - taken
}

func (f *fixture) balanceOf(path string) string {
	f.t.Helper()
	r := f.auditor().get(ledgerPath+"/accounts?env=test&currency=USD&prefix="+path).want(200, "")
	if r.rows() == 0 {
		return "0"
	}
	return r.at("data.0.balance")
}

// newRandom returns a random source and prints its seed; MIZAN_SEED repeats a run.
func newRandom(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("MIZAN_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("MIZAN_SEED: %v", err)
		}
		seed = given
	}
	t.Logf("MIZAN_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func TestUnsupportedCurrenciesOfSettlementsAreNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	long := strings.Repeat("X", 100)
	r := f.admin().post(partnersSettlements, strings.Replace(settledIn, `"USD"`, `"`+long+`"`, 1)).want(422, "")
	if r.at("errors.0.field") != "currency" || r.at("errors.0.detail") != "unsupported currency "+strings.Repeat("X", 32) {
		t.Errorf("%s", r.body)
	}
	f.admin().post(partnersSettlements, `{"direction":"in","direction":"out"}`).want(400, "")
	f.admin().post(partnersSettlements, `[]`).want(422, "")
}
