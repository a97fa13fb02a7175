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
func (h *fixture) collectingTerminal() string {
	h.t.Helper()
	terminals := h.admin().get("/api/v1/terminals?partner_id=1").want(200, "")
	for i := range terminals.rows() {
		row := fmt.Sprintf("data.%d.", i)
		if terminals.at(row+"env") == "test" && terminals.at(row+"type") == "payment" {
			return terminals.at(row + "id")
		}
	}
	h.t.Fatalf("%s", terminals.body)
	return ""
}

// counterOf returns the value of a counter.
func (h *fixture) counterOf(key string) string {
	h.t.Helper()
	view := h.Journal.View()
	defer view.Close()
	amount, err := view.Counter(h.seed.First.Org, key, "")
	must(h.t, err)
	return amount.String()
}

func TestSettlementSurvivesARestart(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	terminal := h.collectingTerminal()
	made := h.admin().post(partnersSettlements, settledIn).want(201, "")
	other := h.admin().post("/api/v1/terminal/"+terminal+"/settlements", collected).want(201, "")
	own, provider := h.admin().get(partnersSettlements+"?env=test").want(200, ""), h.admin().get("/api/v1/terminal/"+terminal+"/settlements?env=test").want(200, "")
	if own.rows() != 1 || own.at("data.0.id") != made.at("data.id") || provider.rows() != 1 || provider.at("data.0.id") != other.at("data.id") {
		t.Errorf("%s %s", own.body, provider.body)
	}
	h.restart()
	h.admin().get(partnersSettlements+"?env=test").want(200, own.body)
	h.admin().get("/api/v1/terminal/"+terminal+"/settlements?env=test").want(200, provider.body)
	h.admin().get("/api/v1/settlements/"+made.at("data.id")).want(200, made.body)
	if again := h.admin().post(partnersSettlements, settledIn).want(201, made.body); !again.isReplay() {
		t.Error("after a restart the reference is free")
	}
}

func TestSettlementCountsTowardsTheLargestTotal(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const usd = "headroom/test/USD/"
	before := h.counterOf(usd)
	h.admin().post(partnersSettlements, settledIn).want(201, "")
	h.admin().post(partnersSettlements, settledIn).want(201, "")
	h.admin().post(partnersSettlements, `{"direction":"out","amount":"50","currency":"USD","env":"test","reference":"out"}`).want(201, "")
	h.admin().post("/api/v1/terminal/"+h.collectingTerminal()+"/settlements", collected).want(201, "")
	h.admin().post(partnersSettlements, `{"direction":"out","amount":"9999999999","currency":"USD","env":"test","reference":"short"}`).want(422, "")
	first, _ := new(big.Int).SetString(before, 10)
	if want := first.Add(first, big.NewInt(250+50+1000)).String(); h.counterOf(usd) != want {
		t.Errorf("it stands at %s, want %s", h.counterOf(usd), want)
	}
}

func TestSettlementKeyAndReferenceAreEachUsedOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	first := h.admin().keyed("k").post(partnersSettlements, settledIn).want(201, "")
	if first.isReplay() || first.at("data.seq") == "0" {
		t.Errorf("%s", first.body)
	}
	// The reference was used before, so nothing changes and the key stays unused.
	if again := h.admin().keyed("other").post(partnersSettlements, settledIn).want(201, first.body); !again.isReplay() {
		t.Error("the reference was free")
	}
	h.admin().keyed("other").post("/api/v1/partners", `{"name":"New","login":"new","pass":"nine-Lions-paint"}`).want(201, "")
	h.admin().keyed("k").post(partnersSettlements, settledIn+" ").want(409, keyConflict)
	// A used key is checked before the reference.
	h.admin().keyed("other").post(partnersSettlements, settledIn).want(409, keyConflict)
}

func TestConcurrentSettlementsWithOneKeyAndReferenceAreBookedOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	before := h.events()
	answers := make([]*answer, 32)
	var all sync.WaitGroup
	for i := range answers {
		c := h.admin()
		if i%2 == 0 {
			c = c.keyed("k")
		}
		all.Go(func() { answers[i] = c.post(partnersSettlements, settledIn) })
	}
	all.Wait()
	fresh := 0
	for _, a := range answers {
		if a.want(201, answers[0].body).isReplay() {
			continue
		}
		fresh++
	}
	after, _ := strconv.Atoi(h.events())
	if begun, _ := strconv.Atoi(before); fresh != 1 || after < begun+1 || after > begun+2 { // one more if the first request had the key
		t.Errorf("%d were booked, %d events after %d", fresh, after, begun)
	}
}

func TestProviderSettlementsExcludeThePartnersOtherTerminals(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	quiet := h.collectingTerminal()
	busy := h.admin().post("/api/v1/terminal", `{"name":"busy","partner_id":1,"provider":"simulator","type":"payment","env":"test"}`).at("data.id")
	settle := func(terminal, reference string) string {
		return h.admin().post("/api/v1/terminal/"+terminal+"/settlements", `{"gross":"10","fee":"1","currency":"USD","env":"test","reference":"`+reference+`"}`).want(201, "").at("data.id")
	}
	oldest := settle(quiet, "oldest")
	const others = 510 // more than one page examines
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < others; i += 8 {
				settle(busy, strconv.Itoa(i))
			}
		})
	}
	all.Wait()
	path := "/api/v1/terminal/" + quiet + "/settlements?env=test"
	if page := h.admin().get(path).want(200, ""); page.rows() != 0 || page.at("cursor.cursor_value") == "null" {
		t.Errorf("it looks at more: %s", page.body)
	}
	if ids := pages(t, h.admin(), path, 50, "id"); len(ids) != 1 || ids[0] != oldest {
		t.Errorf("%v, want %s", ids, oldest)
	}
	seen := make(map[string]bool)
	for _, id := range pages(t, h.admin(), "/api/v1/terminal/"+busy+"/settlements?env=test", 100, "id") {
		seen[id] = true
	}
	if len(seen) != others {
		t.Errorf("%d are listed, want %d", len(seen), others)
	}
}

func TestSettlementRouteDoesNotFindOtherRecords(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, id := range []string{h.paid(), h.collectingTerminal(), uuid.NewString(), "x", "1"} {
		h.admin().get("/api/v1/settlements/"+id).want(404, "")
	}
}

// A partner's available balance and debt after any settlements, payments and payouts equal
// those of a naive computation.
func TestSettlementsAddUp(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	random := dice(t)
	partner := h.admin().post("/api/v1/partners", `{"name":"Sums","login":"sums","pass":"nine-Lions-paint"}`).want(201, "").at("id")
	key := h.admin().post("/api/v1/api_keys", `{"name":"k","partner_id":`+partner+`}`).want(201, "").at("key")
	terminal := h.admin().post("/api/v1/terminal", `{"name":"T","partner_id":`+partner+`,"provider":"simulator","type":"payment","env":"test",`+
		`"provider_params":{"fee_fixed":"300"}}`).want(201, "").at("data.id")
	merchant := h.partner().with("x-api-key", key)
	available, owed, provider := 0, 0, 0
	for i := range 60 {
		amount := 1 + random.IntN(500)
		switch random.IntN(4) {
		case 0: // a payment; its fee may be more than its amount
			merchant.post(transactions, paymentBody(fmt.Sprintf(`"currency":"USD","amount":"%d"`, amount))).want(201, "")
			provider += amount
			available, owed = take(available, owed, amount-300)
		case 1:
			h.admin().post("/api/v1/partners/"+partner+"/settlements", fmt.Sprintf(`{"direction":"in","amount":"%d","currency":"USD","env":"test","reference":"%d"}`, amount, i)).want(201, "")
			available, owed = take(available, owed, amount)
		case 2:
			status := 201
			if amount > available {
				status = 422
			}
			h.admin().post("/api/v1/partners/"+partner+"/settlements", fmt.Sprintf(`{"direction":"out","amount":"%d","currency":"USD","env":"test","reference":"%d"}`, amount, i)).want(status, "")
			if status == 201 {
				available -= amount
			}
		case 3:
			h.admin().post("/api/v1/terminal/"+terminal+"/settlements", fmt.Sprintf(`{"gross":"%d","fee":"%d","currency":"USD","env":"test","reference":"%d"}`, amount, random.IntN(amount+1), i)).want(201, "")
			provider -= amount
		}
	}
	for path, want := range map[string]int{
		"L:partner:" + partner + ":available": available, "A:partner:" + partner + ":receivable": owed, "A:provider:" + terminal: provider,
	} {
		if got := h.balanceOf(path); got != strconv.Itoa(want) {
			t.Errorf("%s is at %s, want %d", path, got, want)
		}
	}
}

// take returns the available and owed amounts after the amount came in, or went out if it is
// negative.
func take(available, owed, amount int) (int, int) {
	if amount >= 0 {
		paid := min(owed, amount)
		return available + amount - paid, owed - paid
	}
	taken := min(max(available, 0), -amount)
	return available - taken, owed - amount - taken
}

func (h *fixture) balanceOf(path string) string {
	h.t.Helper()
	a := h.auditor().get(ledgerPath+"/accounts?env=test&currency=USD&prefix="+path).want(200, "")
	if a.rows() == 0 {
		return "0"
	}
	return a.at("data.0.balance")
}

// dice returns a random source and prints its seed; MIZAN_SEED repeats a run.
func dice(t testing.TB) *rand.Rand {
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
	h := newFixture(t)
	long := strings.Repeat("X", 100)
	a := h.admin().post(partnersSettlements, strings.Replace(settledIn, `"USD"`, `"`+long+`"`, 1)).want(422, "")
	if a.at("errors.0.field") != "currency" || a.at("errors.0.detail") != "unsupported currency "+strings.Repeat("X", 32) {
		t.Errorf("%s", a.body)
	}
	h.admin().post(partnersSettlements, `{"direction":"in","direction":"out"}`).want(400, "")
	h.admin().post(partnersSettlements, `[]`).want(422, "")
}
