package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/bench/server"
	"mizan/internal/testkit"
)

// ruleOf returns the fee rule of a payment terminal that the API lists with the given provider_params. The rule is nil if the
// terminal needs none.
func ruleOf(t *testing.T, params string) *feeRule {
	t.Helper()
	var terminal listedTerminal
	if err := json.Unmarshal([]byte(`{"id":"t","type":"payment","env":"prod","provider_params":`+params+`}`), &terminal); err != nil {
		t.Fatal(err)
	}
	return terminal.rule()
}

// The amounts are computed by hand from the specification: floor(1000 × bps ÷ 10000) + fixed.
func TestPriceFollowsFromTheTerminalsParameters(t *testing.T) {
	for params, want := range map[string]string{
		`{}`:                "1000 = 1000 + 0",
		`{"fee_bps":"125"}`: "1000 = 988 + 12", // 12.5
		`{"fee_bps":"129"}`: "1000 = 988 + 12", // 12.9
		`{"fee_bps":"9"}`:   "1000 = 1000 + 0", // 0.9
		`{"fee_fixed":"3"}`: "1000 = 997 + 3",
		`{"fee_bps":"125","fee_fixed":"3","fee_mode":"deduct"}`: "1000 = 985 + 15",
		`{"fee_bps":"125","fee_fixed":"3","fee_mode":"on_top"}`: "1015 = 1000 + 15",
		`{"fee_bps":"10000"}`:  "1000 = 0 + 1000",
		`{"fee_fixed":"1300"}`: "1000 = -300 + 1300",
		`{"fee_bps":"10000","fee_fixed":"1","fee_mode":"on_top"}`:                        "2001 = 1000 + 1001",
		`{"fee_bps":"125","fee_fixed":null,"fee_mode":null,"settlement_currency":"USD"}`: "1000 = 988 + 12",
	} {
		p := ruleOf(t, params).price()
		if got := fmt.Sprintf("%v = %v + %v", p.provider, p.partner, p.fee); got != want {
			t.Errorf("%s: %s, want %s", params, got, want)
		}
	}
}

func TestOnlyTerminalsThatMatterHaveARule(t *testing.T) {
	for _, params := range []string{`{}`, `{"fee_bps":null,"fee_fixed":"0","fee_mode":"on_top"}`, `{"settlement_currency":"USD"}`} {
		if rule := ruleOf(t, params); rule != nil {
			t.Errorf("%s has a rule: %+v", params, rule)
		}
	}
	if rule := ruleOf(t, `{"settlement_currency":"EUR"}`); rule == nil || !rule.converts {
		t.Errorf("a terminal that converts: %+v", rule)
	}
	for _, other := range []listedTerminal{{Type: "payout", Env: "prod"}, {Type: "payment", Env: "test"}} {
		other.Params.Fixed = &decimal{*big.NewInt(5)}
		if rule := other.rule(); rule != nil {
			t.Errorf("%s in %s has a rule", other.Type, other.Env)
		}
	}
}

func TestFeeRulesOfAllPagesAreRead(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		page, next := query.Get("cursor"), `null`
		if page == "" {
			page, next = "first", `"second"`
		}
		_, _ = fmt.Fprintf(w, `{"data":[{"id":"%s of %s","type":"payment","env":"prod","provider_params":{"fee_fixed":"1"}}],"cursor":{"cursor_value":%s}}`,
			page, query.Get("partner_id"), next)
	}))
	t.Cleanup(service.Close)
	a := &ledgerReader{client: service.Client(), sandbox: &server.Sandbox{BaseURL: service.URL, PartnerID: 7}}
	for _, c := range []struct {
		allPartners bool
		want        []string
	}{{false, []string{"first of 7", "second of 7"}}, {true, []string{"first of ", "second of "}}} {
		a.allPartners = c.allPartners
		rules, err := a.readFeeRules(t.Context())
		if got := slices.Sorted(maps.Keys(rules)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q, %v; want %q", got, err, c.want)
		}
	}
}

// Of the 120 payments, 60 go through a terminal without a fee, 30 through one that deducts 15, 20 through one that adds 40
// on top, and 10 through one whose fee of 1300 is more than the amount.
func TestCheckFindsEachTotalThatIsWrong(t *testing.T) {
	rules := feeRules{
		"deducts": ruleOf(t, `{"fee_bps":"125","fee_fixed":"3"}`), "adds": ruleOf(t, `{"fee_fixed":"40","fee_mode":"on_top"}`),
		"takes more": ruleOf(t, `{"fee_fixed":"1300"}`), "converts": ruleOf(t, `{"settlement_currency":"EUR"}`),
	}
	totals := func(credits, debits, provider, deducts, adds, takesMore, converts, fees int64) *ledgerTotals {
		b := &ledgerTotals{byTerminal: map[string]*big.Int{
			"deducts": big.NewInt(deducts), "adds": big.NewInt(adds), "takes more": big.NewInt(takesMore), "converts": big.NewInt(converts),
		}}
		b.credits.SetInt64(credits)
		b.debits.SetInt64(debits)
		b.provider.SetInt64(provider)
		b.fees.SetInt64(fees)
		return b
	}
	before := totals(500, 70, 9, 8, 7, 6, 5, 4)
	delete(before.byTerminal, "adds") // because an account does not exist before its first entry
	right := [8]int64{500 + 60_000 + 29_550 + 20_000, 70 + 3_000, 9 + 60_000, 8 + 30_000, 20_800, 6 + 10_000, 5, 4 + 450 + 800 + 13_000}
	check := func(v [8]int64) (*big.Int, error) {
		return totals(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]).checkCharged(before, 120, rules)
	}
	if fees, err := check(right); err != nil || fees.Int64() != 14_250 {
		t.Fatalf("fees %v, %v", fees, err)
	}
	for i := range right {
		for _, by := range []int64{-1000, -1, 1, 1000} {
			wrong := right
			wrong[i] += by
			if _, err := check(wrong); err == nil {
				t.Errorf("total %d is wrong by %d: no error", i, by)
			}
		}
	}
	moved := right
	moved[2] -= 1_000
	moved[3] += 1_000
	if _, err := check(moved); err == nil {
		t.Error("a payment at a terminal with a fee was booked without it: no error")
	}
	converted := right
	converted[2] -= 1_000
	converted[6] += 1_000
	if _, err := check(converted); err == nil || !strings.Contains(err.Error(), "converts") {
		t.Errorf("a payment was converted: %v", err)
	}
}

// Refunds that somebody else makes during a run debit the partner; the check must not count these debits.
func TestCheckIgnoresDebitsOfOthers(t *testing.T) {
	before, after := new(ledgerTotals), new(ledgerTotals)
	after.credits.SetInt64(1000)
	after.provider.SetInt64(1000)
	after.debits.SetInt64(77)
	if _, err := after.checkCharged(before, 1, nil); err != nil {
		t.Error(err)
	}
}

// simulatorTerminal is the sandbox's terminal for payments in prod.
const simulatorTerminal = "Simulator payment prod"

func TestPaymentsTakeTerminalsWithFeesOfARealServer(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Flags: []string{"--tls", "off"}})
	admin := func(arguments ...string) string {
		out, err := runBinary(t, append([]string{"admin", "--sandbox", s.Dir, "--json"}, arguments...)...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", arguments, err, out)
		}
		return out
	}
	terminal := ""
	for line := range strings.Lines(admin("terminals", "list", "--partner", fmt.Sprint(s.Sandbox.PartnerID))) {
		var listed struct{ ID, Name string }
		if err := json.Unmarshal([]byte(line), &listed); err != nil {
			t.Fatal(err)
		}
		if listed.Name == simulatorTerminal {
			terminal = listed.ID
		}
	}
	run := func(wantCharged uint64, wantFees string) {
		t.Helper()
		cfg := PaymentsConfig{
			Workload: "payments", Connections: 4, Duration: time.Hour, Rate: 1.0 / 7200, Timeout: time.Minute, TLS: "off",
			Target: s.BaseURL, Data: s.Dir, Preload: int(wantCharged) - 1,
		}
		var out strings.Builder
		if err := Payments(t.Context(), cfg, &out); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		if want := fmt.Sprintf("ledger     ok: %d payments of 1000 charged, 0 of them asked for again, fees of %s\n", wantCharged, wantFees); !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
	run(10, "0")
	for _, c := range []struct{ params, fees string }{ // the fees of 41 payments
		{`{"fee_bps":"125","fee_fixed":"3"}`, "615"},
		{`{"fee_bps":"125","fee_fixed":"3","fee_mode":"on_top"}`, "615"},
		{`{"fee_fixed":"5000000"}`, "205000000"}, // more than the partner has, so that a debt remains
		{`{"fee_bps":"999"}`, "4059"},            // 99 for each payment (99.9 rounded down); the rest first pays the partner's debt
	} {
		admin("terminals", "update", terminal, "--provider-params", c.params)
		run(41, c.fees)
	}
	// The server's routing prefers another terminal, with another fee, from now on.
	admin("terminals", "create", "--partner", fmt.Sprint(s.Sandbox.PartnerID), "--name", "preferred", "--provider", "simulator", "--type", "payment",
		"--env", "prod", "--provider-params", `{"priority":-1,"fee_fixed":"7"}`)
	run(41, "287")
}
