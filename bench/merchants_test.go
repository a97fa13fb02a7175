package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	"mizan/bench/server"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// threeMerchants are three merchants whose keys are as long as the key of fakeService's own partner.
var threeMerchants = merchants{Organization: "org", Terminals: 3, Partners: []merchant{
	{ID: 7, Keys: []string{"k71", "k72"}}, {ID: 8, Keys: []string{"k81"}}, {ID: 9, Keys: []string{"k91", "k92"}},
}}

func writeMerchants(t *testing.T, dir string, m any) {
	t.Helper()
	content, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, merchantsFile), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestKeysAreUsedInRoundsOfAllPartners(t *testing.T) {
	if got := threeMerchants.keys(); !slices.Equal(got, []string{"k71", "k81", "k91", "k72", "k92"}) {
		t.Errorf("%v", got)
	}
	if got := threeMerchants.counts(); got != (merchantCounts{3, 3, 5}) {
		t.Errorf("%v", got)
	}
}

func TestMerchantsOfAnEarlierRunAreReusedOrRefused(t *testing.T) {
	dir := t.TempDir()
	sandbox := &server.Sandbox{OrganizationID: "org"}
	if m, err := readMerchants(dir, sandbox, merchantCounts{3, 3, 5}); m != nil || err != nil {
		t.Errorf("of an empty directory: %v, %v", m, err)
	}
	writeMerchants(t, dir, threeMerchants)
	if m, err := readMerchants(dir, sandbox, merchantCounts{3, 3, 5}); err != nil || len(m.Partners) != 3 {
		t.Errorf("as many as there are: %v, %v", m, err)
	}
	for name, c := range map[string]struct {
		sandbox server.Sandbox
		want    merchantCounts
		message string
	}{
		"more keys":         {*sandbox, merchantCounts{3, 3, 6}, "5 keys in all"},
		"fewer partners":    {*sandbox, merchantCounts{2, 3, 5}, "3 partners"},
		"more terminals":    {*sandbox, merchantCounts{3, 4, 5}, "3 terminals each"},
		"another directory": {server.Sandbox{OrganizationID: "other"}, merchantCounts{3, 3, 5}, "another sandbox"},
	} {
		if _, err := readMerchants(dir, &c.sandbox, c.want); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", name, err)
		}
	}
	writeMerchants(t, dir, "no merchants")
	if _, err := readMerchants(dir, sandbox, merchantCounts{3, 3, 5}); err == nil {
		t.Error("a malformed file was accepted")
	}
}

func TestPaymentsSpreadOverAllKeys(t *testing.T) {
	p := &fakeService{createsByKey: map[string]int{"k71": 0, "k81": 0, "k91": 0, "k72": 0, "k92": 0}}
	r, out, err := runPayments(t, p, func(c *PaymentsConfig) {
		c.Preload, c.Partners, c.Terminals, c.Keys = 99, 3, 3, 5
		writeMerchants(t, c.Data, threeMerchants)
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for key, uses := range p.createsByKey {
		if uses != 20 { // including 99 preloaded payments before the measured ones
			t.Errorf("key %s was used %d times, want 20", key, uses)
		}
	}
	if r.Partners != 3 || r.Keys != 5 || r.Charged != 100 || r.Ledger != "ok" {
		t.Errorf("%+v", r)
	}
}

func TestSpreadingPaymentsNeedsMerchantsAtTheTarget(t *testing.T) {
	_, out, err := runPayments(t, new(fakeService), func(c *PaymentsConfig) { c.Partners, c.Terminals = 3, 3 })
	if err == nil || !strings.Contains(err.Error(), merchantsFile) {
		t.Errorf("%v\n%s", err, out)
	}
	_, out, err = runPayments(t, new(fakeService), func(c *PaymentsConfig) {
		c.Partners, c.Terminals = 1, 1
		writeMerchants(t, c.Data, merchants{Organization: "org", Terminals: 1, Partners: []merchant{{ID: 7, Keys: []string{"longer"}}}})
	})
	if err == nil || !strings.Contains(err.Error(), "a key of 6 bytes") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestNumberOfMerchantsIsBounded(t *testing.T) {
	for _, c := range []struct {
		want    merchantCounts
		message string
	}{
		{merchantCounts{}, ""},
		{merchantCounts{1, 1, 1}, ""},
		{merchantCounts{10_000, 3, 100_000}, ""},
		{merchantCounts{1, 3, directoryactor.MaxMerchantRecords - 3}, ""},
		{merchantCounts{1, 3, directoryactor.MaxMerchantRecords - 2}, "--keys"},
		{merchantCounts{-1, 3, 0}, "--partners"},
		{merchantCounts{maxPartners + 1, 3, maxPartners + 1}, "--partners"},
		{merchantCounts{1, 0, 1}, "--terminals"},
		{merchantCounts{2, 3, 1}, "--keys"},
	} {
		err := c.want.check()
		if (err == nil) != (c.message == "") || err != nil && !strings.Contains(err.Error(), c.message) {
			t.Errorf("%v: %v, want %q", c.want, err, c.message)
		}
	}
}

// withDirectoryActor opens a data directory's store, as addMerchants does, and passes fn the actor that manages
// partners, terminals and keys.
func withDirectoryActor(t *testing.T, dir string, fn func(*directoryactor.Service)) {
	t.Helper()
	keyring, err := secret.LoadSealingKeyring(filepath.Join(dir, "keyring"))
	if err != nil {
		t.Fatal(err)
	}
	journal, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := journal.Close(); err != nil {
			t.Error(err)
		}
	}()
	runtime := actors.New(actors.Options{Clock: clock.Real{}, Journal: journal, Log: slog.New(slog.DiscardHandler)})
	defer runtime.Stop()
	service, err := directoryactor.Start(runtime, keyring)
	if err != nil {
		t.Fatal(err)
	}
	fn(service)
}

func TestMerchantsAreMadeInAClosedStore(t *testing.T) {
	dir := t.TempDir()
	if _, err := secret.CreateKeyring(filepath.Join(dir, "keyring"), rand.Reader); err != nil {
		t.Fatal(err)
	}
	var sandbox server.Sandbox
	withDirectoryActor(t, dir, func(s *directoryactor.Service) {
		seeded, err := s.Seed(t.Context(), directoryactor.SeedInput{})
		if err != nil {
			t.Fatal(err)
		}
		sandbox.OrganizationID = seeded.First.Org.String()
	})
	want := merchantCounts{partners: 40, terminals: 3, keys: 100}
	if _, err := addMerchants(t.Context(), dir, &sandbox, want); err != nil {
		t.Fatal(err)
	}
	m, err := readMerchants(dir, &sandbox, want)
	if err != nil {
		t.Fatal(err)
	}
	org := uuid.MustParse(sandbox.OrganizationID)
	withDirectoryActor(t, dir, func(s *directoryactor.Service) {
		for _, partner := range m.Partners {
			if n := len(s.Terminals(org, partner.ID)); n != 3 {
				t.Errorf("partner %d has %d terminals", partner.ID, n)
			}
			for _, key := range partner.Keys {
				if _, p, ok := s.Authenticate(org, []byte(key)); !ok || p.Number != partner.ID {
					t.Errorf("a key of partner %d is not accepted", partner.ID)
				}
			}
		}
	})
}

// runBinary runs the real binary until it ends.
func runBinary(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, testkit.Binary(t), arguments...).CombinedOutput()
	return string(out), err
}

func TestPaymentsSpreadOverMerchantsOfARealServer(t *testing.T) {
	data := t.TempDir()
	for _, preload := range []string{"120", "60"} { // the second run uses the merchants that the first has created
		out, err := runBinary(t, "bench", "payments", "--data", data, "--partners", "20", "--keys", "60", "--limits",
			"--preload", preload, "--duration", "1h", "--rate", fmt.Sprint(1.0/7200), "--connections", "4")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, message := range []string{"over 20 partners and 60 keys, 3 limits on each partner", "ledger     ok"} {
			if !strings.Contains(out, message) {
				t.Errorf("it does not say %q:\n%s", message, out)
			}
		}
	}
}

func TestLinkWorkloadGetsThePageOfALink(t *testing.T) {
	data := t.TempDir()
	for range 2 { // the second run uses the link that the first has created
		out, err := runBinary(t, "bench", "payments", "--workload", "link", "--data", data, "--duration", "1h", "--rate", fmt.Sprint(1.0/7200), "--connections", "4")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, message := range []string{"link       1 in ", "errors     none", "ledger     ok: 0 payments"} {
			if !strings.Contains(out, message) {
				t.Errorf("it does not say %q:\n%s", message, out)
			}
		}
	}
}

// largestT finds the largest t in the output of `mizan bench access`.
var largestT = regexp.MustCompile(`(?m)^largest +t ([0-9.]+),`)

// The response times depend on the machine, so the test does not check them. It checks that each case is refused,
// and that there is an error only if the largest t is too large.
func TestAccessTriesEveryDeniedCase(t *testing.T) {
	out, err := runBinary(t, "bench", "access", "--data", t.TempDir(), "--samples", "50", "--partners", "2")
	found := largestT.FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var value float64
	if _, scanErr := fmt.Sscan(found[1], &value); scanErr != nil || (err == nil) != (value < maxEqualT) {
		t.Errorf("%v with t %s\n%s", err, found[1], out)
	}
	for _, name := range []string{"unknown key", "another unknown key", "wrong organization", "unknown organization",
		"expired", "revoked", "inactive organization", "wrong source address"} {
		if !strings.Contains(out, " "+name+" ") {
			t.Errorf("no row of %s:\n%s", name, out)
		}
	}
}
