package check_test

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	"mizan/actors/checkpoint"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/fixture"
)

// makeCheckpoints posts entries on four further days and makes the checkpoints of the days that have ended. A
// checkpoint has an organization's accounts with their totals after one event.
func makeCheckpoints(t *testing.T, w *fixture.Store) {
	t.Helper()
	for day := range 4 {
		j := fixture.OpenJournal(t, w, clock.NewManual(fixture.StartTime.AddDate(0, 0, day+1)), nil)
		var changes []*posting.Change
		for n := range 60 {
			changes = append(changes, &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{transferBetween(w, 1, n%10, 10+day)}})
		}
		fixture.SubmitTo(t, j, changes...)
	}
	makeMissingCheckpoints(t, w)
}

// makeMissingCheckpoints lets the real checkpointer make the checkpoints that are due and missing.
func makeMissingCheckpoints(t *testing.T, w *fixture.Store) {
	t.Helper()
	makeCheckpointAt(t, w, fixture.StartTime.AddDate(0, 0, 4))
}

func makeCheckpointAt(t *testing.T, w *fixture.Store, now time.Time) {
	t.Helper()
	manual := clock.NewManual(now)
	j := fixture.OpenJournal(t, w, manual, nil)
	runtime := actors.New(actors.Options{Clock: manual, Journal: j, Log: fixture.NoLog})
	runtime.Start(func(posting.DueItem) bool { return false })
	fixture.Must(t, checkpoint.Start(runtime).MakeDue())
	runtime.Stop()
	fixture.Must(t, j.Close())
}

// checkpointRows returns rows of the first organization's checkpoints. It leaves out checkpoints without accounts. heads has the
// head of each checkpoint, which names the event and has sums. parts has the row with the accounts of each checkpoint.
func checkpointRows(p *fixture.Corrupter, w *fixture.Store) (heads, parts []storedKV) {
	p.T.Helper()
	keys, rows := p.Rows(store.KeyKV(nil, w.FirstDemo.Org, store.CheckpointHeads()))
	for i := range keys {
		head := storedKV{keys[i], rows[i]}
		if decodeHead(p, head).Rows == 0 {
			continue // no account has changed since the base
		}
		partKeys, partRows := p.Rows(store.KeyKV(nil, w.FirstDemo.Org, store.CheckpointRowsOf(decodeHead(p, head).Seq)))
		if len(partKeys) != 1 {
			p.T.Fatalf("a checkpoint of %d parts", len(partKeys))
		}
		heads, parts = append(heads, head), append(parts, storedKV{partKeys[0], partRows[0]})
	}
	if len(heads) < 4 {
		p.T.Fatalf("%d checkpoints", len(heads))
	}
	return heads, parts
}

type storedKV struct{ key, row []byte }

// rewriteCheckpoint replaces a part of a checkpoint, and makes the checkpoint's head match the new part. change alters
// an account's movement and tells whether the account stays. The added accounts get empty movements.
func rewriteCheckpoint(p *fixture.Corrupter, head, part storedKV, change func(key []byte, m *ledger.Movement) (stays bool), addedAccounts ...ledger.Account) {
	p.T.Helper()
	h := decodeHead(p, head)
	writer := store.CheckpointWriter{Head: h, Write: func(_, row []byte) error {
		p.Group.Set(part.key, row)
		return nil
	}}
	writer.Head.Accounts, writer.Head.Rows = 0, 0
	for accounts := store.NewCheckpointPart(part.row); ; {
		more, err := accounts.Next()
		fixture.Must(p.T, err)
		if !more {
			break
		}
		if bytes.HasPrefix(accounts.Key, []byte(store.GroupKeys)) {
			break // the writer adds the groups
		}
		if change(accounts.Key, &accounts.Movement) {
			fixture.Must(p.T, writer.Add(accounts.Key, &accounts.Movement))
		}
	}
	for _, a := range addedAccounts {
		fixture.Must(p.T, writer.Add(store.AccountKey(nil, a), new(ledger.Movement)))
	}
	fixture.Must(p.T, writer.Finish())
	writer.Head.ChainAccounts += writer.Head.Accounts - h.Accounts
	setHead(p, head, &writer.Head)
}

// rowWithOtherGroup returns a checkpoint's part in which nothing but the movement of a group is another. It changes one byte
// after the other until that is so.
func rowWithOtherGroup(p *fixture.Corrupter, row []byte, path ledger.Path) []byte {
	p.T.Helper()
	original, _ := contentOfPart(row)
	for i := range row {
		changed := bytes.Clone(row)
		changed[i]++
		content, ok := contentOfPart(changed)
		if !ok || len(content) != len(original) {
			continue
		}
		differences := 0
		isGroup := false
		for key, m := range content {
			if before, found := original[key]; !found || before != m {
				group, ok := store.ParseGroupKey([]byte(key))
				isGroup = found && ok && group.Path == path
				differences++
			}
		}
		if differences == 1 && isGroup {
			return changed
		}
	}
	p.T.Fatalf("no byte belongs to the group %s only", path)
	return nil
}

// contentOfPart returns the movements in a part; false if the part cannot be read.
func contentOfPart(row []byte) (content map[string]ledger.Movement, ok bool) {
	content = make(map[string]ledger.Movement)
	for part := store.NewCheckpointPart(row); ; {
		more, err := part.Next()
		if err != nil || !more {
			return content, err == nil
		}
		content[string(part.Key)] = part.Movement
	}
}

func decodeHead(p *fixture.Corrupter, head storedKV) store.CheckpointHead {
	p.T.Helper()
	h, err := store.DecodeCheckpointHead(store.KVKey(head.key), head.row)
	fixture.Must(p.T, err)
	return h
}

// setHead replaces a stored head. The key of a head contains its booked time, so the new head's row may have another key.
func setHead(p *fixture.Corrupter, stored storedKV, h *store.CheckpointHead) {
	p.Group.Delete(stored.key)
	p.Group.Set(store.KeyKV(nil, ledger.ID(stored.key[1:17]), store.KeyCheckpointHead(h.Booked)), store.EncodeCheckpointHead(h))
}

// Sound checkpoints break no rule, and missing checkpoints break none either.
func TestSoundCheckpointsBreakNoRule(t *testing.T) {
	w := fixture.Copy(t)
	reportBefore := w.Check(t, check.Inputs{})
	makeCheckpoints(t, w)
	reportAfter := w.Check(t, check.Inputs{})
	fixture.WantBroken(t, reportAfter)
	if len(reportAfter.Rules) == 0 || countOf(reportAfter, 2) <= countOf(reportBefore, 2) {
		t.Error("nothing was compared")
	}
	for name, change := range map[string]func(p *fixture.Corrupter, heads, parts []storedKV){
		"all checkpoints are missing": func(p *fixture.Corrupter, heads, parts []storedKV) {
			for _, row := range append(heads, parts...) {
				p.Group.Delete(row.key)
			}
		},
		"a part is missing":        func(p *fixture.Corrupter, _, parts []storedKV) { p.Group.Delete(parts[1].key) },
		"the last head is missing": func(p *fixture.Corrupter, heads, _ []storedKV) { p.Group.Delete(heads[len(heads)-1].key) },
	} {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			heads, parts := checkpointRows(p, w)
			change(p, heads, parts)
		})
		report := w.Check(t, check.Inputs{})
		fixture.WantBroken(t, report)
		if report.Digest != reportAfter.Digest {
			t.Errorf("%s: the digest is another", name)
		}
		makeMissingCheckpoints(t, w)
	}
}

// countOf returns how many things a rule has checked.
func countOf(r *findings.Report, rule int) uint64 {
	for _, result := range r.Rules {
		if result.Number == rule {
			return result.Count
		}
	}
	return 0
}

func TestEveryWrongCheckpointIsFound(t *testing.T) {
	for _, c := range []struct {
		name, wantText string
		change         func(p *fixture.Corrupter, heads, parts []storedKV)
	}{
		{"a total that is one more", "has other totals in part 0 than its events give: account L:bench:3", func(p *fixture.Corrupter, heads, parts []storedKV) {
			rewriteCheckpoint(p, heads[1], parts[1], func(key []byte, m *ledger.Movement) bool {
				if a, _ := store.ParseAccountKey(key); a.Path == "L:bench:3" {
					m.DebitsPosted.Abs = fixture.MustAdd(m.DebitsPosted.Abs, 1)
				}
				return true
			})
		}},
		{"an account that is left out", "with other sums than its", func(p *fixture.Corrupter, heads, parts []storedKV) {
			rewriteCheckpoint(p, heads[2], parts[2], func(key []byte, _ *ledger.Movement) bool {
				a, _ := store.ParseAccountKey(key)
				return a.Path != "L:bench:4"
			})
		}},
		{"an account that does not exist", "account L:nobody", func(p *fixture.Corrupter, heads, parts []storedKV) {
			rewriteCheckpoint(p, heads[3], parts[3], func([]byte, *ledger.Movement) bool { return true }, ledger.Account{Path: "L:nobody", Asset: money.Asset{Currency: "USD", Env: money.Test}})
		}},
		{"another sum of a group", "has other totals in part 0 than its events give: group L:bench:", func(p *fixture.Corrupter, heads, parts []storedKV) {
			changed := storedKV{parts[2].key, rowWithOtherGroup(p, parts[2].row, "L:bench:")}
			h := decodeHead(p, heads[2])
			h.List[0].Sum = sha256.Sum256(changed.row)
			p.Group.Set(changed.key, changed.row)
			setHead(p, heads[2], &h)
		}},
		{"a part of another checkpoint", "than its events give", func(p *fixture.Corrupter, _, parts []storedKV) {
			p.Group.Set(parts[2].key, parts[1].row)
		}},
		{"a checkpoint with a wrong time in its key", "has a wrong time in its key", func(p *fixture.Corrupter, heads, _ []storedKV) {
			h := decodeHead(p, heads[1])
			h.Booked++
			setHead(p, heads[1], &h)
		}},
		{"a head under the key of another time", "has another sum", func(p *fixture.Corrupter, heads, _ []storedKV) {
			key := bytes.Clone(heads[1].key)
			key[len(key)-1]++
			p.Group.Set(key, heads[1].row)
		}},
		{"a checkpoint of an earlier event than the one before", "comes too late", func(p *fixture.Corrupter, heads, _ []storedKV) {
			h := decodeHead(p, heads[0])
			h.Booked = decodeHead(p, heads[2]).Booked
			setHead(p, heads[2], &h)
		}},
		{"a checkpoint of an event that does not exist", "which does not exist", func(p *fixture.Corrupter, heads, parts []storedKV) {
			lastHead := heads[len(heads)-1]
			h := decodeHead(p, lastHead)
			h.Previous, h.Seq, h.Booked = h.Seq, h.Seq+1_000_000, h.Booked+1_000_000_000_000
			p.Group.Set(store.KeyKV(nil, ledger.ID(lastHead.key[1:17]), store.KeyCheckpointHead(h.Booked)), store.EncodeCheckpointHead(&h))
		}},
		{"a head that cannot be read", "has another sum", func(p *fixture.Corrupter, heads, _ []storedKV) { p.Group.Set(heads[3].key, []byte{7}) }},
		{"a part of no checkpoint", "is not one of its parts", func(p *fixture.Corrupter, heads, parts []storedKV) {
			seq, height, number, ok := store.ParseCheckpointRow(store.KVKey(parts[1].key))
			if !ok {
				p.T.Fatal("a part's key")
			}
			p.Group.Set(store.KeyKV(nil, ledger.ID(parts[1].key[1:17]), store.KeyCheckpointRow(seq, height, number+1)), parts[1].row)
		}},
		{"a row of an unknown kind", "of an unknown kind", func(p *fixture.Corrupter, heads, _ []storedKV) {
			p.Group.Set(store.KeyKV(nil, ledger.ID(heads[0].key[1:17]), []byte("tx")), []byte{1})
		}},
		{"a checkpoint that names a wrong previous one", "which does not exist", func(p *fixture.Corrupter, heads, parts []storedKV) {
			h := decodeHead(p, heads[2])
			h.Previous, h.Base = h.Previous-1, store.CheckpointID{}
			setHead(p, heads[2], &h)
		}},
		{"a checkpoint that rests on a wrong one", "rests on one after event", func(p *fixture.Corrupter, heads, parts []storedKV) {
			h := decodeHead(p, heads[2])
			h.Base = store.CheckpointID{Seq: h.Previous, Booked: h.Booked - 1}
			setHead(p, heads[2], &h)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := fixture.Copy(t)
			makeCheckpoints(t, w)
			w.Corrupt(t, func(p *fixture.Corrupter) {
				heads, parts := checkpointRows(p, w)
				c.change(p, heads, parts)
			})
			report := w.Check(t, check.Inputs{})
			fixture.WantBroken(t, report, 2)
			if text := report.Rules[1].Details; !slices.ContainsFunc(text, func(detail string) bool { return strings.Contains(detail, c.wantText) }) {
				t.Errorf("it says %q, want %q", text, c.wantText)
			}
		})
	}
}
