package maintenance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

// replayWorld is a server that has responded to requests with idempotency keys. There is one request of each kind whose response
// the server stores for repetitions (the cached reply).
type replayWorld struct {
	t       *testing.T
	server  *testkit.Server
	paidID  string            // the payment that the subscription renews
	replies map[string]string // the bodies of the first responses, by kind of request
}

func (r *replayWorld) requests() map[string]func() (*testkit.Answer, error) {
	s := r.server
	withKey := func(c *testkit.Client) *testkit.Client { return c.With("idempotency-key", "k") }
	return map[string]func() (*testkit.Answer, error){
		"payment": func() (*testkit.Answer, error) {
			return withKey(s.Partner()).Post("/api/v1/transactions", paymentFrom(`{"type":"e_wallet"}`))
		},
		"subscription": func() (*testkit.Answer, error) {
			return s.Partner().With("idempotency-key", "s").Post("/api/v1/subscriptions", fmt.Sprintf(`{"params":{"initial_payment_id":%q,"amount":"900","period_days":30}}`, r.paidID))
		},
		"contract": func() (*testkit.Answer, error) {
			return withKey(s.Session()).Post("/api/v1/pfp/safekeeping-deposits",
				fmt.Sprintf(`{"customer_id":%q,"region":"AE","custody_type":"guaranteed","initial_amount":"1000"}`, s.Sandbox.OrganizationID))
		},
		"API key": func() (*testkit.Answer, error) {
			return withKey(s.Admin()).With("x-organization-id", s.Sandbox.OrganizationID).Post("/api/v1/api_keys", fmt.Sprintf(`{"partner_id":%d,"name":"till"}`, s.Sandbox.PartnerID))
		},
	}
}

// replayAll sends all requests, checks the status of each response, and returns the bodies.
func (r *replayWorld) replayAll(when string, wantStatus map[string]int) map[string]string {
	r.t.Helper()
	replies := make(map[string]string)
	for name, send := range r.requests() {
		answer, err := send()
		if err != nil {
			r.t.Fatal(err)
		}
		if answer.Status != wantStatus[name] {
			r.t.Errorf("%s: %s: %d %s, want %d", when, name, answer.Status, answer.Body, wantStatus[name])
		}
		replies[name] = string(answer.Body)
	}
	return replies
}

var everyCreated = map[string]int{"payment": 201, "subscription": 201, "contract": 201, "API key": 201}

// changeRecords changes the records that the requests have created, so that they differ from the cached
// replies.
func (r *replayWorld) changeRecords() {
	r.t.Helper()
	for name, change := range map[string]func(id string) (*testkit.Answer, error){
		"payment": func(id string) (*testkit.Answer, error) {
			return r.server.Partner().Put("/api/v1/transactions/"+id, `{"params":{"type":"refund","amount":"100"}}`)
		},
		"subscription": func(id string) (*testkit.Answer, error) {
			return r.server.Partner().Post("/api/v1/subscriptions/"+id+"/pause", "")
		},
		"contract": func(id string) (*testkit.Answer, error) {
			return r.server.Session().Post("/api/v1/pfp/safekeeping-deposits/"+id+"/activate", "{}")
		},
	} {
		var created struct {
			ID   string `json:"id"`
			Data struct {
				ID string `json:"id"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(r.replies[name]), &created); err != nil {
			r.t.Fatal(err)
		}
		if a, err := change(created.ID + created.Data.ID); err != nil || a.Status != 200 {
			r.t.Fatalf("%s: %v %+v", name, err, a)
		}
	}
}

func startReplayWorld(t *testing.T) *replayWorld {
	t.Helper()
	r := &replayWorld{t: t, server: testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})}
	paid, err := r.server.Partner().Post("/api/v1/transactions", paymentFrom(`{"type":"bank_card","cardnumber":"4242424242424242","cardholder":"JANE DOE","exp_month":"12","exp_year":"2030","cvv":"123"}`))
	if err != nil || paid.Status != 201 {
		t.Fatalf("%v %+v", err, paid)
	}
	var created struct{ ID string }
	if err := paid.JSON(&created); err != nil {
		t.Fatal(err)
	}
	r.paidID = created.ID
	r.replies = r.replayAll("first", everyCreated)
	r.changeRecords()
	return r
}

func (r *replayWorld) wantSameReplies(when string, replies map[string]string) {
	r.t.Helper()
	for name, text := range replies {
		if text != r.replies[name] {
			r.t.Errorf("%s: %s is repeated as\n%s, and was\n%s", when, name, text, r.replies[name])
		}
	}
}

func (r *replayWorld) stop() {
	r.t.Helper()
	if code := r.server.Stop(); code != 0 {
		r.t.Fatalf("it stopped with %d\n%s", code, r.server.Stderr())
	}
}

// keepPrimaryKeyOnly copies a keyring's file and leaves out all its sealing keys except the primary key.
func keepPrimaryKeyOnly(t *testing.T, from, to string) {
	t.Helper()
	fields := keyringFields(t, from)
	var keys struct {
		Primary uint32           `json:"primaryKeyId"`
		Keys    []map[string]any `json:"key"`
	}
	if err := json.Unmarshal(fields["sealing_keys"], &keys); err != nil {
		t.Fatal(err)
	}
	keptKeys := keys.Keys[:0]
	for _, key := range keys.Keys {
		if uint32(key["keyId"].(float64)) == keys.Primary {
			keptKeys = append(keptKeys, key)
		}
	}
	if len(keptKeys) != 1 || len(keys.Keys) < 2 {
		t.Fatalf("%d of %d keys", len(keptKeys), len(keys.Keys))
	}
	keys.Keys = keptKeys
	var err error
	if fields["sealing_keys"], err = json.Marshal(keys); err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Cached replies are sealed (encrypted). After a rotation of keys, an earlier key still opens them. If that key is lost, the
// replies can't be opened, and the log reports an error. A client that repeats the request then gets the record's current
// content, or a message that the reply is lost.
func TestCachedRepliesSurviveARotationButNotALostKey(t *testing.T) {
	r := startReplayWorld(t)
	r.wantSameReplies("again", r.replayAll("again", everyCreated))
	keyring := filepath.Join(r.server.Dir, "keyring")
	r.stop()
	testkit.WantQuietSuccess(t, testkit.Run(t, nil, "keys", "rotate", "--data", r.server.Dir))
	r.server.Restart()
	r.wantSameReplies("rotated", r.replayAll("rotated", everyCreated))
	r.stop()
	r.verify(0)

	content, err := os.ReadFile(keyring)
	if err != nil {
		t.Fatal(err)
	}
	keepPrimaryKeyOnly(t, keyring, keyring)
	if text := r.verify(1); strings.Count(text, "can't be read") < 3 {
		t.Errorf("with a keyring that lacks the key the checker said\n%s", text)
	}
	r.server.Restart()
	lostStatus := map[string]int{"payment": 201, "subscription": 201, "contract": 201, "API key": 409}
	for name, text := range r.replayAll("lost", lostStatus) {
		want := map[string]string{
			"payment": `"refunded_amount":"100"`, "subscription": `"status":"paused"`, "contract": `"status":"active"`,
			"API key": `"error":"conflict"`,
		}[name]
		if text == r.replies[name] || !strings.Contains(text, want) {
			t.Errorf("lost: %s is answered %s, want %s", name, text, want)
		}
	}
	r.stop()
	if n := strings.Count(r.server.Stderr(), "does not open, so the request"); n != 4 {
		t.Errorf("%d alarms in the log\n%s", n, r.server.Stderr())
	}

	// With the earlier key all replies can be opened again, and none was replaced meanwhile.
	if err := os.WriteFile(keyring, content, 0o600); err != nil {
		t.Fatal(err)
	}
	r.server.Restart()
	r.wantSameReplies("brought back", r.replayAll("brought back", everyCreated))
	r.stop()
	r.verify(0)
}

// verify runs the checker with the keyring in the data directory, checks its exit code and returns its output.
func (r *replayWorld) verify(wantExit int) string {
	r.t.Helper()
	run := testkit.Run(r.t, nil, "audit", "verify", "--data", r.server.Dir)
	if run.Exit != wantExit {
		r.t.Errorf("audit verify ended with %d, want %d\n%s%s", run.Exit, wantExit, run.Stdout, run.Stderr)
	}
	return run.Stdout
}

func TestVerifyTakesTheStoresOwnKeyring(t *testing.T) {
	testkit.NotUnderRace(t, reasonNothingConcurrent)
	r := startReplayWorld(t)
	r.stop()
	movedKeyring := filepath.Join(t.TempDir(), "keys")
	if err := os.Rename(filepath.Join(r.server.Dir, "keyring"), movedKeyring); err != nil {
		t.Fatal(err)
	}
	otherKeyring := newKeyring(t)
	for name, c := range map[string]struct {
		flags   []string
		exit    int
		message string
	}{
		"no --keyring":            {nil, 0, ""},
		"the store's own keyring": {[]string{"--keyring", movedKeyring}, 0, ""},
		"another keyring":         {[]string{"--keyring", otherKeyring}, 2, "mizan: configuration: keyring: the store was made with another keyring"},
		"a missing keyring":       {[]string{"--keyring", movedKeyring + "x"}, 2, "no such file"},
		"a directory":             {[]string{"--keyring", r.server.Dir}, 1, "is not a regular file"},
	} {
		run := testkit.Run(t, nil, append([]string{"audit", "verify", "--data", r.server.Dir}, c.flags...)...)
		if run.Exit != c.exit || !strings.Contains(run.Stderr, c.message) {
			t.Errorf("%s: exit %d, want %d\n%s%s", name, run.Exit, c.exit, run.Stdout, run.Stderr)
		}
	}
}

// paymentFrom returns the body of a request that creates a payment with this money_storage.
func paymentFrom(moneyStorage string) string {
	return `{"params":{"type":"payment","amount":"1250","currency":"USD","env":"test","returnUrl":"https://shop.example/ok","failUrl":"https://shop.example/no","money_storage":` + moneyStorage + `}}`
}
