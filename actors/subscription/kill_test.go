package subscription_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

// hangTimeout is how long a test waits before it fails because the server hangs.
const hangTimeout = 2 * time.Minute

// chargesByReference returns how often the payment with each reference was requested from the simulator.
func chargesByReference(t *testing.T, s *testkit.Server) map[string]int {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(s.Dir, "simulator.log"))
	if err != nil {
		t.Fatal(err)
	}
	charges := make(map[string]int)
	for line := range bytes.Lines(log) {
		if reference, rest, ok := strings.Cut(strings.TrimPrefix(string(line), `{"reference":"`), `"`); ok && strings.Contains(rest, `"operation":"payment"`) {
			charges[reference]++
		}
	}
	return charges
}

// killDuring calls sendRequest, which sends the server a request, and kills the server when newCharges more payments
// have been requested from the simulator. It returns false if sendRequest returned before that.
func killDuring(t *testing.T, s *testkit.Server, newCharges int, sendRequest func()) bool {
	t.Helper()
	wantCharges := len(chargesByReference(t, s)) + newCharges
	ended := make(chan struct{})
	go func() { defer close(ended); sendRequest() }()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	timeout := time.NewTimer(hangTimeout)
	defer timeout.Stop()
	for {
		select {
		case <-ended:
			return false
		case <-timeout.C:
			t.Fatal("the clock does not move")
		case <-ticker.C:
			if len(chargesByReference(t, s)) >= wantCharges {
				s.Kill()
				<-ended
				return true
			}
		}
	}
}

// Even if SIGKILLs come at any point of the renewals, each subscription is renewed once per period, and one
// payment for each renewal is requested from the simulator.
func TestKillsLoseNoRenewalAndChargeEachOnce(t *testing.T) {
	const subscriptions, periodDays, renewalsEach = 8, 3, 4 // renewalsEach is the number of renewals of each subscription
	server := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})
	var ids []string
	for i := range subscriptions {
		initial := post(t, server, "/api/v1/transactions", fmt.Sprintf(`{"params":{"type":"payment","env":"test","amount":"%d","currency":"USD",`+
			`"returnUrl":"https://shop.example/ok","failUrl":"https://shop.example/no","money_storage":{"type":"bank_card",`+
			`"cardnumber":"4242424242424242","cardholder":"A","exp_month":"12","exp_year":"30","cvv":"123"}}}`, i+1))["id"]
		subscription := post(t, server, "/api/v1/subscriptions", fmt.Sprintf(`{"params":{"initial_payment_id":"%s","amount":"990","period_days":%d}}`, initial, periodDays))
		ids = append(ids, subscription["data"].(map[string]any)["id"].(string))
	}
	started := clockOf(t, server)
	target := fmt.Sprintf(`{"now":%q}`, started.Add(renewalsEach*periodDays*24*time.Hour+12*time.Hour).Format(time.RFC3339Nano))
	random := testseed.Random(t)
	kills, maxKills := 0, 12
	if testing.Short() {
		maxKills = 4 // enough for a short run: each kill comes at another point
	}
	for isAdvancing := true; isAdvancing; {
		hasAdvanced := false
		wasKilled := kills < maxKills && killDuring(t, server, 1+random.IntN(4), func() {
			answer, err := server.Admin().Put("/api/v1/sandbox/clock", target)
			hasAdvanced = err == nil && answer.Status == 200
		})
		switch {
		case wasKilled:
			kills++
			server.Restart("--clock", "manual")
		case hasAdvanced:
			isAdvancing = false
		default:
			answer, err := server.Admin().Put("/api/v1/sandbox/clock", target)
			if err != nil || answer.Status != 200 {
				t.Fatalf("the clock: %v %+v", err, answer)
			}
			isAdvancing = false
		}
	}
	if kills == 0 {
		t.Error("nothing was killed")
	}
	transactions := make(map[string]bool)
	for _, id := range ids {
		var shown struct {
			Data struct {
				Renewals int    `json:"renewals"`
				Last     string `json:"last_transaction_id"`
				Status   string `json:"status"`
			} `json:"data"`
		}
		answer, err := server.Partner().Get("/api/v1/subscriptions/" + id)
		if err != nil || answer.JSON(&shown) != nil || shown.Data.Renewals != renewalsEach || shown.Data.Status != "active" || transactions[shown.Data.Last] {
			t.Errorf("after %d kills: %v %s", kills, err, answer.Body)
		}
		transactions[shown.Data.Last] = true
	}
	charges := chargesByReference(t, server)
	if len(charges) != subscriptions*(renewalsEach+1) {
		t.Errorf("after %d kills the rail has %d payments, want %d", kills, len(charges), subscriptions*(renewalsEach+1))
	}
	for reference, n := range charges {
		if n != 1 {
			t.Errorf("the rail was asked %d times for %s", n, reference)
		}
	}
	if code := server.Stop(); code != 0 {
		t.Errorf("it stopped with %d", code)
	}
	if checked := testkit.Run(t, nil, "audit", "verify", "--data", server.Dir); checked.Exit != 0 {
		t.Errorf("after %d kills the books do not hold\n%s%s", kills, checked.Stdout, checked.Stderr)
	}
}

func post(t *testing.T, s *testkit.Server, path, body string) map[string]any {
	t.Helper()
	answer, err := s.Partner().Post(path, body)
	var created map[string]any
	if err != nil || answer.Status != 201 || answer.JSON(&created) != nil {
		t.Fatalf("%s: %v %+v", path, err, answer)
	}
	return created
}

func clockOf(t *testing.T, s *testkit.Server) time.Time {
	t.Helper()
	var shown struct {
		Now time.Time `json:"now"`
	}
	answer, err := s.Admin().Get("/api/v1/sandbox/clock")
	if err != nil || answer.JSON(&shown) != nil {
		t.Fatal(err)
	}
	return shown.Now
}
