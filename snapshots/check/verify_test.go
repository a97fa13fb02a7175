package check_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// verify runs check.Verify, which must report no problems.
func verify(t *testing.T, cfg check.VerifyConfig) (exit int, out string) {
	t.Helper()
	cfg.Log = fixture.NoLog
	exit, out, problems := runVerify(t, cfg)
	if problems != "" {
		t.Errorf("beside its report it said %s", problems)
	}
	return exit, out
}

// verifyRefused checks that check.Verify can't check the store: Verify prints one line that says why, and no report.
func verifyRefused(t *testing.T, cfg check.VerifyConfig) (exit int, problems string) {
	t.Helper()
	exit, out, problems := runVerify(t, cfg)
	if out != "" || strings.Count(problems, "\n") != 1 {
		t.Errorf("printed %q, said %q; want one line that says why, and no report", out, problems)
	}
	return exit, problems
}

// runVerify runs check.Verify and returns what it prints: the report and the problems.
func runVerify(t *testing.T, cfg check.VerifyConfig) (exit int, out, problems string) {
	t.Helper()
	cfg.Log = fixture.NoLog
	var reportBuffer, problemBuffer bytes.Buffer
	exit = check.Verify(t.Context(), cfg, &reportBuffer, &problemBuffer)
	return exit, reportBuffer.String(), problemBuffer.String()
}

func TestVerifyPrintsOneLinePerRule(t *testing.T) {
	w := fixture.Copy(t)
	exit, out := verify(t, check.VerifyConfig{Data: w.Dir})
	want := `^rule 1 skipped 0 acknowledged responses are stored as they were given
rule 2 ok [1-9]\d* debits equal credits, and every total is the sum of its postings
rule 3 ok [1-9]\d* the state of every record follows from its events
rule 4 ok [1-9]\d* every claim, list row and number belongs to one record
rule 5 ok [1-9]\d* journals have no gaps, and their hash trees recompute
rule 6 ok [1-9]\d* every notified transition has its delivery
rule 7 ok [1-9]\d* every provider call follows a durable intent
rule 8 skipped 0 no file holds a text that must not be stored
rule 9 skipped 0 a reopened store is the same
$`
	if exit != 0 || !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("exit %d, printed:\n%s", exit, out)
	}
	exit, out = verify(t, check.VerifyConfig{Data: w.Dir, Answers: fixture.WriteLines(t, w.Answers...), Canaries: fixture.WriteLines(t, "4242424242424242")})
	if exit != 0 || !strings.Contains(out, "rule 1 ok ") || !strings.Contains(out, "rule 8 ok ") {
		t.Errorf("with its files: exit %d, printed:\n%s", exit, out)
	}
}

func TestVerifyPrintsDetailsBeneathABrokenRule(t *testing.T) {
	w := fixture.Copy(t)
	w.RewriteHeader(t, func(e *store.RecordHeader) { e.Version++ })
	exit, out := verify(t, check.VerifyConfig{Data: w.Dir})
	want := `(?m)^rule 3 FAIL \d+ the state of every record follows from its events\n  organization \S+: transaction ` + w.DeclinedPayment.ID.String() + ` is at version 7 .*\nrule 4 ok`
	if exit != 1 || !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("exit %d, printed:\n%s", exit, out)
	}
}

func TestDetailsAreBounded(t *testing.T) {
	w := fixture.Copy(t)
	if err := os.Remove(filepath.Join(w.Dir, "simulator.log")); err != nil {
		t.Fatal(err)
	}
	w.Corrupt(t, func(p *fixture.Corrupter) {
		for range 100 {
			p.ChangeRecord(w.FirstDemo.Org, fixture.TransactionSource(w.DeclinedPayment.ID), func(e *store.RecordHeader, payload []byte) []byte { return payload })
			_, rows := p.Rows(store.KeyRecord(nil, w.FirstDemo.Org, fixture.TransactionSource(w.DeclinedPayment.ID)))
			id := fixture.NewID()
			p.Group.Set(store.KeyRecord(nil, w.FirstDemo.Org, fixture.TransactionSource(id)), rows[0])
		}
	})
	exit, out := verify(t, check.VerifyConfig{Data: w.Dir})
	if exit != 1 || !strings.Contains(out, "\n  and 80 more\n") {
		t.Errorf("exit %d, printed:\n%s", exit, out)
	}
}

func TestVerifyRefusesALockedStore(t *testing.T) {
	w := fixture.Copy(t)
	j := fixture.OpenJournal(t, w, clock.NewManual(fixture.StartTime), nil)
	exit, out := verifyRefused(t, check.VerifyConfig{Data: w.Dir})
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if exit != 3 || !strings.HasPrefix(out, "mizan: locked: ") || strings.Count(out, "\n") != 1 {
		t.Errorf("exit %d, printed:\n%s", exit, out)
	}
}

func TestVerifyNeverCreatesAStore(t *testing.T) {
	dir := t.TempDir()
	for _, data := range []string{dir, filepath.Join(dir, "missing")} {
		exit, out := verifyRefused(t, check.VerifyConfig{Data: data})
		if exit != 1 || !strings.HasPrefix(out, "mizan: storage: ") {
			t.Errorf("exit %d, printed:\n%s", exit, out)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestVerifyReportsALogWithoutItsStore(t *testing.T) {
	w := fixture.Copy(t)
	if err := os.RemoveAll(filepath.Join(w.Dir, "store")); err != nil {
		t.Fatal(err)
	}
	exit, out := verifyRefused(t, check.VerifyConfig{Data: w.Dir})
	if exit != 1 || !strings.HasPrefix(out, "mizan: storage: ") || !strings.Contains(out, "restore from a backup") {
		t.Errorf("exit %d, printed:\n%s", exit, out)
	}
}

func TestVerifyReportsRowsThatPreventAStart(t *testing.T) {
	w := fixture.Copy(t)
	w.Corrupt(t, func(p *fixture.Corrupter) {
		keys, _ := p.Rows(store.KeyDues(nil))
		p.Group.Set(keys[len(keys)-1], []byte{0xff})
	})
	exit, out := verifyRefused(t, check.VerifyConfig{Data: w.Dir})
	if exit != 1 || !strings.HasPrefix(out, "mizan: storage: due row") || strings.Count(out, "\n") != 1 {
		t.Errorf("exit %d, printed:\n%s", exit, out)
	}
}

func TestVerifyRefusesMissingFiles(t *testing.T) {
	w := fixture.Copy(t)
	missing := filepath.Join(t.TempDir(), "missing")
	for _, cfg := range []check.VerifyConfig{{Answers: missing}, {Canaries: missing}} {
		cfg.Data = w.Dir
		exit, out := verifyRefused(t, cfg)
		if exit != 2 || !strings.HasPrefix(out, "mizan: configuration: ") {
			t.Errorf("exit %d, printed:\n%s", exit, out)
		}
	}
}

func TestDigestChangesOnlyWithTheStore(t *testing.T) {
	w := fixture.Copy(t)
	digest := w.Check(t, check.Inputs{}).Digest
	if second := w.Check(t, check.Inputs{}).Digest; second != digest {
		t.Errorf("digest %x, then %x", digest, second)
	}
	w.Submit(t, settlement(w.SecondDemo.Org, 2, false, 1, 0))
	if changed := w.Check(t, check.Inputs{}).Digest; changed == digest {
		t.Error("a change left the digest as it was")
	}
}

func TestDigestCoversEverySection(t *testing.T) {
	w := fixture.CopyWithLayout(t, fixture.Paged)
	unchangedDigest := w.Check(t, check.Inputs{}).Digest
	nameOfDigest := map[[32]byte]string{unchangedDigest: "nothing"}
	for name, key := range map[string][]byte{
		"page": store.KeyPages(nil, w.FirstDemo.Org, fixture.FeesInUSD), "record": store.KeyRecord(nil, w.FirstDemo.Org, fixture.TransactionSource(w.DeclinedPayment.ID)),
		"claim": store.KeyClaim(nil, w.FirstDemo.Org, 't', "1/order-2"), "counter": store.KeyCounters(nil, w.FirstDemo.Org),
		"list": store.KeyListPages(nil, w.FirstDemo.Org, payment.Transactions.Of(1, money.Prod)), "sealed row": store.KeySealeds(nil, w.FirstDemo.Org), "part": store.KeyPart(nil, w.FirstDemo.Org, fixture.TransactionSource(w.DeclinedPayment.ID), 1),
	} {
		changedStore := fixture.CopyWithLayout(t, fixture.Paged)
		changedStore.Corrupt(t, func(p *fixture.Corrupter) {
			if name == "part" {
				p.Group.Set(key, []byte("a part"))
				return
			}
			keys, rows := p.Rows(key)
			p.Group.Set(keys[0], append(rows[0], 1))
		})
		digest := changedStore.Check(t, check.Inputs{}).Digest
		if other, exists := nameOfDigest[digest]; exists {
			t.Errorf("a changed %s has the digest of %s", name, other)
		}
		nameOfDigest[digest] = name
	}
}

// Canaries are strings, such as card numbers, that no file of the data directory may contain.
func TestCanaryIsFoundInAnyFile(t *testing.T) {
	w := fixture.Copy(t)
	canaries := fixture.WriteLines(t, "", "4242424242424242", "4000000000000341", "cvv=737")
	writeFile := func(name, content string) {
		t.Helper()
		path := filepath.Join(w.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeFile("tls/notes", "a card 4242424242424241 and a cvv=736")
	fixture.WantBroken(t, w.Check(t, check.Inputs{Canaries: canaries}))
	writeFile("tls/notes", "a card 4000000000000341.")
	writeFile("core", strings.Repeat("\x00", 1<<20-8)+"4242424242424242")
	report := w.Check(t, check.Inputs{Canaries: canaries})
	fixture.WantBroken(t, report, 8)
	if got, want := strings.Join(report.Rules[7].Details, "\n"), "core: canary 2 at byte 1048568\ntls/notes: canary 3 at byte 7"; got != want {
		t.Errorf("found:\n%s\nwant:\n%s", got, want)
	}
	for _, detail := range report.Rules[7].Details {
		if strings.Contains(detail, "4242") || strings.Contains(detail, "0341") {
			t.Errorf("a detail shows a canary: %s", detail)
		}
	}
}

func TestStoredCanaryIsFound(t *testing.T) {
	w := fixture.Copy(t)
	w.Corrupt(t, func(p *fixture.Corrupter) {
		p.Group.Set(store.KeyPart(nil, w.FirstDemo.Org, fixture.TransactionSource(fixture.NewID()), 1), []byte("card 4111111111111111 cvv 737"))
	})
	fixture.WantBroken(t, w.Check(t, check.Inputs{Canaries: fixture.WriteLines(t, "4111111111111111")}), 8)
}

func TestInputFilesOfTheCheckAreNotSearched(t *testing.T) {
	w := fixture.Copy(t)
	path := filepath.Join(w.Dir, "canaries")
	if err := os.WriteFile(path, []byte("4242424242424242\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fixture.WantBroken(t, w.Check(t, check.Inputs{Canaries: path}))
}

func TestCheckEndsWithItsContext(t *testing.T) {
	w := fixture.Copy(t)
	j := fixture.OpenJournal(t, w, clock.NewManual(fixture.StartTime), nil)
	defer j.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := check.Check(ctx, j, check.Inputs{Data: w.Dir, Log: fixture.NoLog})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestUnreadableRowsBreakTheirRule(t *testing.T) {
	for _, c := range []struct {
		name        string
		key         func(w *fixture.Store) []byte
		brokenRules []int
	}{
		{"block", func(w *fixture.Store) []byte { return store.KeyBlocks(nil, w.SecondDemo.Org) }, []int{2, 3, 4, 5, 7}},
		{"tree", func(w *fixture.Store) []byte { return store.KeyTreeRows(nil, w.SecondDemo.Org) }, []int{5}},
		{"page", func(w *fixture.Store) []byte { return store.KeyPages(nil, w.FirstDemo.Org, fixture.FeesInUSD) }, []int{2}},
		{"record", func(w *fixture.Store) []byte { return store.KeyRecords(nil, w.SecondDemo.Org, ledger.Partner) }, []int{3, 4}},
		{"list", func(w *fixture.Store) []byte {
			return store.KeyListPages(nil, w.SecondDemo.Org, payment.Transactions.Of(2, money.Prod))
		}, []int{4}},
		{"claim", func(w *fixture.Store) []byte { return store.KeyClaims(nil, w.SecondDemo.Org, 'k') }, []int{4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := fixture.CopyWithLayout(t, fixture.Paged) // lines are on pages, because a store with unreadable page buffers can't be opened
			w.Corrupt(t, func(p *fixture.Corrupter) {
				keys, _ := p.Rows(c.key(w))
				for _, key := range keys {
					p.Group.Set(key, []byte{0xff, 0xff, 0xff})
				}
			})
			fixture.WantBroken(t, w.Check(t, check.Inputs{}), c.brokenRules...)
		})
	}
}
