package api_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"mizan/actors"
	"mizan/actors/checkpoint"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// makeCheckpoints makes the checkpoints (stored totals of all accounts) of the days that have ended.
func (f *fixture) makeCheckpoints() {
	f.t.Helper()
	runtime := actors.New(actors.Options{Clock: f.Clock, Journal: f.Journal, Log: slog.New(slog.DiscardHandler)})
	runtime.Start(func(posting.DueItem) bool { return false })
	defer runtime.Stop()
	must(f.t, checkpoint.Start(runtime).MakeDue())
}

// A response is the same whether there are no checkpoints, complete ones, or some that are partly missing or damaged.
func TestTrialBalanceDoesNotDependOnCheckpoints(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, amount := range []string{"100", "2000", "30000", "400000"} {
		for range 20 {
			f.partner().post(transactions, paymentBody(`"amount":"`+amount+`","currency":"USD"`)).want(201, "")
		}
		f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":86400}`).want(200, "")
	}
	f.partner().post(transactions, paymentBody(`"amount":"7","currency":"EUR"`)).want(201, "")
	moments := []string{
		"", "&at=2026-09-03T10:15:29Z", "&at=2026-09-03T23:59:59Z", "&at=2026-09-04T23:59:59Z", "&at=2026-09-05T12:00:00Z", "&at=2030-01-01T00:00:00Z",
		"&at=2026-09-04&by=effective", "&at=2026-09-06&by=effective", "&at=1999-01-01&by=effective",
	}
	readBalances := func() (results []string) {
		for _, at := range moments {
			results = append(results, strings.Join(columnOfPages(t, f.auditor(), ledgerPath+"/trial-balance?env=test"+at, 500, "credits_posted"), " "))
			results = append(results, strings.Join(columnOfPages(t, f.auditor(), ledgerPath+"/trial-balance?env=test"+at, 7, "balance"), " "))
			results = append(results, f.auditor().get(ledgerPath+"/totals?env=test"+at).want(200, "").body)
			results = append(results, f.auditor().get(ledgerPath+"/totals?env=test&group=segment&prefix=L:&limit=2"+at).want(200, "").body)
		}
		return append(results, strings.Join(columnOfPages(t, f.auditor(), ledgerPath+"/accounts?env=test", 20, "debits_posted"), " "))
	}
	want := readBalances()
	f.makeCheckpoints()
	org := f.seed.First.Org
	var checkpointParts [][]byte
	view := f.Journal.View()
	err := view.KVKeys(org, store.CheckpointRows(), nil, func(key []byte) ([]byte, bool, error) {
		checkpointParts = append(checkpointParts, slices.Clone(key))
		return nil, true, nil
	})
	view.Close()
	if err != nil || len(checkpointParts) != 4 {
		t.Fatalf("%d parts of checkpoints, %v", len(checkpointParts), err)
	}
	for name, kv := range map[string]posting.KV{
		"with checkpoints": {Org: ledger.ID{1}, Key: []byte("other")},
		"a part missing":   {Org: org, Key: checkpointParts[1]},
		"a part is wrong":  {Org: org, Key: checkpointParts[3], Value: []byte("wrong")},
	} {
		done := make(chan posting.Receipt, 1)
		f.Journal.Submit(&posting.Change{KVs: []posting.KV{kv}}, func(r posting.Receipt) { done <- r })
		must(t, (<-done).Err)
		if got := readBalances(); !slices.Equal(got, want) {
			t.Errorf("%s: %s", name, fmt.Sprint(got))
		}
	}
}
