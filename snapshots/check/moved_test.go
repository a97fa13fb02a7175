package check_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/posting/move"
	"mizan/posting/move/movetest"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// failingAtEnd gives a move up instead of taking the organization over.
type failingAtEnd struct{ movetest.Local }

func (failingAtEnd) Finish(context.Context, ledger.ID, ledger.ID, uint64, move.Head) error {
	return errors.New("fails")
}

// Organizations with records of every kind move to another store. The rules hold there, also for what clients were told before;
// they hold in the store that the organizations have left, and in one that has only copies.
func TestMovedOrganizationsBreakNoRule(t *testing.T) {
	fixture.EachLayout(t, func(t *testing.T, copyStore func(testing.TB) *fixture.Store) {
		for _, failsAtEnd := range []bool{true, false} {
			w := copyStore(t)
			server := fixture.Start(t, w)
			other := *w
			other.Dir = t.TempDir()
			for _, name := range []string{"keyring", "simulator.log"} {
				content, err := os.ReadFile(filepath.Join(w.Dir, name))
				if err == nil {
					err = os.WriteFile(filepath.Join(other.Dir, name), content, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			to := fixture.OpenJournal(t, &other, clock.NewManual(server.Clock.Now()), nil)
			view := server.Journal.View()
			var organizations []ledger.ID
			if err := view.Organizations(func(org ledger.ID) (bool, error) {
				if org != (ledger.ID{}) {
					organizations = append(organizations, org)
				}
				return true, nil
			}); err != nil {
				t.Fatal(err)
			}
			view.Close()
			local := movetest.Local{Receiver: move.NewReceiver(to)}
			destination := move.Destination(local)
			if failsAtEnd {
				destination = failingAtEnd{local}
			}
			for _, org := range organizations {
				_, err := move.Run(t.Context(), move.Order{
					ID: move.NewID(), Journal: server.Journal, Org: org, From: 1, To: 2, Other: destination,
					OnProgress: func(move.Progress) {}, OnFence: func() {},
				})
				if (err != nil) != failsAtEnd {
					t.Fatal(err)
				}
				want := store.Here
				if failsAtEnd {
					want = store.Abandoned
				}
				if got := to.Placement(org).State; got != want {
					t.Errorf("the organization is %v in the other store", got)
				}
			}
			server.Close()
			if err := to.Close(); err != nil {
				t.Fatal(err)
			}
			if len(organizations) < 2 {
				t.Fatalf("%d organizations", len(organizations))
			}
			answers := fixture.WriteLines(t, w.Answers...)
			for _, c := range []struct {
				dir     string
				answers string
				has     bool
			}{{w.Dir, answers, true}, {other.Dir, "", !failsAtEnd}} {
				if c.has {
					c.answers = answers
				}
				exit, out := verify(t, check.VerifyConfig{Data: c.dir, Answers: c.answers})
				if c.dir == other.Dir && failsAtEnd {
					if !strings.Contains(out, "are copies of moves that have not ended") {
						t.Errorf("the report says nothing of copies:\n%s", out)
					}
					out = strings.ReplaceAll(out, "rule 7 FAIL", "rule 7 ok") // the simulator's log has the calls of the first store
				}
				if strings.Contains(out, "FAIL") {
					t.Errorf("failsAtEnd %v, exit %d:\n%s", failsAtEnd, exit, out)
				}
			}
		}
	})
}
