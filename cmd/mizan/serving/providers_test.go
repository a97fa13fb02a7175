package serving

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

// startWithSimulator starts a sandbox that uses the simulator's process.
func startWithSimulator(t *testing.T, simulator *testkit.Simulator) *testkit.Server {
	t.Helper()
	server := testkit.Start(t, testkit.Options{Flags: []string{"--simulator-url", simulator.URL}})
	if _, err := os.Stat(filepath.Join(server.Dir, simulatorLog)); !os.IsNotExist(err) {
		t.Errorf("the server has a simulator.log of its own: %v", err)
	}
	return server
}

// transaction is what these tests read of a transaction.
type transaction struct {
	ID         string
	Status     string
	ErrorCode  string `json:"error_code"`
	AuthParams struct {
		URL string
	} `json:"auth_params"`
}

func payWith(t *testing.T, client *testkit.Client, card string) (tx transaction) {
	t.Helper()
	answer, err := client.Post("/api/v1/transactions", strings.Replace(testkit.CardPayment(""), "4242424242424242", card, 1))
	if err := testkit.WantStatus(t, answer, err, http.StatusCreated).JSON(&tx); err != nil {
		t.Fatal(err)
	}
	return tx
}

func read(t *testing.T, client *testkit.Client, id string) (tx transaction) {
	t.Helper()
	answer, err := client.Get("/api/v1/transactions/" + id)
	if err := testkit.WantStatus(t, answer, err, http.StatusOK).JSON(&tx); err != nil {
		t.Fatal(err)
	}
	return tx
}

// Two servers use one simulator. Each of them pays, and each of them knows its payments after kills and restarts of all three
// processes.
func TestServersShareASimulatorInAProcessOfItsOwn(t *testing.T) {
	simulator := testkit.StartSimulator(t, nil)
	var ids []string
	servers := []*testkit.Server{startWithSimulator(t, simulator), startWithSimulator(t, simulator)}
	for _, server := range servers {
		ids = append(ids, testkit.Pay(t, server.Partner(), "order"))
	}
	log, err := os.ReadFile(filepath.Join(simulator.Dir, simulatorLog))
	if err != nil || strings.Count(string(log), "\n") != 2 || !strings.Contains(string(log), ids[0]) || !strings.Contains(string(log), ids[1]) {
		t.Errorf("the simulator's log is %q, %v, want a line for each of %v", log, err, ids)
	}
	if tx := payWith(t, servers[0].Partner(), "4000000000000002"); tx.Status != "rejected" || tx.ErrorCode != "card_declined" {
		t.Errorf("a declined card: %+v", tx)
	}
	simulator.Kill()
	servers[0].Kill()
	if tx := payWith(t, servers[1].Partner(), "4242424242424242"); tx.Status != "failed" || tx.ErrorCode != "processing_error" {
		t.Errorf("a payment while no simulator runs: %+v", tx)
	}
	servers[0].Restart() // the server does not need the simulator for its start
	simulator.Restart()
	testkit.Pay(t, servers[1].Partner(), "")
	for i, server := range servers {
		if tx := read(t, server.Partner(), ids[i]); tx.Status != "charged" {
			t.Errorf("after the restarts: %+v", tx)
		}
		answer, err := server.Partner().Put("/api/v1/transactions/"+ids[i], `{"params":{"type":"refund"}}`)
		testkit.WantStatus(t, answer, err, http.StatusOK)
		testkit.WaitUntil(t, "the payment is refunded", func() bool { return read(t, server.Partner(), ids[i]).Status == "refunded" })
		if code := server.Stop(); code != 0 {
			t.Errorf("the server ended with %d\n%s", code, server.Stderr())
		}
		// Rule 7 compares the calls with the simulator's log, which is not in this directory.
		if out := testkit.MustRun(t, "audit", "verify", "--data", server.Dir); !strings.Contains(out, "\nrule 7 skipped ") {
			t.Errorf("the checker prints %s", out)
		}
	}
}

// postForm posts a form as a browser does, and does not follow the redirect in the response.
func postForm(t *testing.T, server *testkit.Server, path string, form url.Values) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.BaseURL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := server.Transport().RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode >= 400 {
		t.Fatalf("the form was answered with %d", answer.StatusCode)
	}
}

// The challenge page is the server's, and the payer's decision goes to the simulator's process.
func TestAPayerDecidesOnAChallengeOfASimulatorInAnotherProcess(t *testing.T) {
	server := startWithSimulator(t, testkit.StartSimulator(t, nil))
	for decision, want := range map[string]string{"approve": "charged", "refuse": "rejected"} {
		tx := payWith(t, server.Partner(), "4000000000003220")
		address, err := url.Parse(tx.AuthParams.URL)
		if tx.Status != "action_required" || err != nil || address.Query().Get("token") == "" {
			t.Fatalf("a card with 3-D Secure: %+v, %v", tx, err)
		}
		answer, err := server.Anyone().Get(address.RequestURI())
		testkit.WantStatus(t, answer, err, http.StatusOK)
		form := address.Query()
		form.Set("decision", decision)
		postForm(t, server, address.Path, form)
		testkit.WaitUntil(t, "the payment is "+want, func() bool { return read(t, server.Partner(), tx.ID).Status == want })
		answer, err = server.Anyone().Get(address.Path + "?" + strings.Replace(address.RawQuery, "token=", "token=x", 1))
		testkit.WantStatus(t, answer, err, http.StatusNotFound)
	}
}

// A store keeps the simulator with which it was made: another one would not know the charges.
func TestAStoreKeepsItsSimulator(t *testing.T) {
	testkit.NotUnderRace(t, reasonRefusedStart)
	simulator := testkit.StartSimulator(t, nil)
	far := startWithSimulator(t, simulator)
	near := testkit.Start(t, testkit.Options{})
	far.Stop()
	near.Stop()
	for dir, c := range map[string]struct {
		flags []string
		want  string
	}{
		far.Dir:  {nil, "mizan: configuration: simulator-url: the charges of " + far.Dir + " are in the log of a mizan simulator; name its address"},
		near.Dir: {[]string{"--simulator-url", simulator.URL}, "mizan: configuration: simulator-url: the charges of " + near.Dir + " are in its own simulator.log"},
	} {
		r := testkit.Run(t, nil, append([]string{"serve", "--sandbox", "--data", dir, "--listen", "127.0.0.1:0", "--log-level", "error"}, c.flags...)...)
		if r.Exit != 2 {
			t.Errorf("exit %d, want 2", r.Exit)
		}
		testkit.WantOneLine(t, r.Stderr, c.want)
	}
	far.Restart()
	testkit.Pay(t, far.Partner(), "")
	near.Restart()
	testkit.Pay(t, near.Partner(), "")
}
