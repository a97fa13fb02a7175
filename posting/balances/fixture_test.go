package balances_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
)

var (
	org   = uuid.MustParse("0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a01")
	usd   = money.Asset{Currency: "USD", Env: money.Prod}
	start = time.Date(2026, 9, 3, 10, 15, 30, 123456000, time.UTC)
)

// fixture is a journal on a clock that the test moves, with a reader of its balances.
type fixture struct {
	*testkit.World
	t      *testing.T
	reader balances.Reader
	draft  func(*posting.View, ledger.ID, *balances.Checkpoint, uint64, func(posting.KV) error) (*balances.Checkpoint, error) // BuildCheckpoint, or DraftCheckpointInShortRows
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{World: testkit.NewWorld(t, start), t: t, draft: balances.BuildCheckpoint}
	f.reader.SetMaxOfPage(1) // so that tests with few accounts read checkpoints
	f.OpenJournal()
	return f
}

func amount(n uint64) money.Amount { return money.FromUint64(n) }

func line(path ledger.Path, side ledger.Side, n uint64) ledger.Posting {
	return ledger.Posting{Account: path, Asset: usd, Side: side, Amount: amount(n)}
}

// transfer returns a change of one record with one entry.
func transfer(phase ledger.Phase, postings ...ledger.Posting) *posting.Change {
	return &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Settlement, ID: uuid.New()}, Record: []byte{1},
		Events: []ledger.Event{{Name: "move", To: "done", Entry: &ledger.Entry{Phase: phase, Postings: postings}}},
	}}}
}
