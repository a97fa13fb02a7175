package snapshots_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting/store"
	"mizan/snapshots"
)

// backups are those of a running house.
func (h *house) backups() *snapshots.Backups {
	b := snapshots.NewBackups(snapshots.BackupOptions{Journal: h.journal, Keyring: keyring(h.t, h.dir), Clock: h.clock, Data: h.dir, Log: quiet})
	h.t.Cleanup(b.Close)
	return b
}

// save takes a backup into the directory.
func (h *house) save(dir string) snapshots.Listed {
	h.t.Helper()
	b := h.backups()
	saved, err := b.Save(dir)
	must(h.t, err)
	b.Close()
	return saved
}

// digestOf is what a closed store means; the checker must find nothing in it.
func digestOf(t testing.TB, dir string) [32]byte {
	t.Helper()
	j := openJournal(t, &town{dir: dir}, nowhere{}, nil)
	defer func() { must(t, j.Close()) }()
	report, err := snapshots.Check(context.Background(), j, snapshots.Inputs{Data: dir, Log: quiet})
	must(t, err)
	if report.Broken() {
		var text bytes.Buffer
		_, _ = report.WriteTo(&text)
		t.Fatalf("the store is broken:\n%s", text.String())
	}
	return report.Digest
}

// nowhere is the clock of a store in which nothing happens.
type nowhere struct{}

func (nowhere) Now() time.Time { return start }

// restored is a data directory that was made of a backup.
func restored(t testing.TB, from, at string, keys snapshots.Sealer) (dir string, done *snapshots.Restored) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "restored")
	var instant time.Time
	if at != "" {
		var err error
		instant, err = time.Parse(time.RFC3339Nano, at)
		must(t, err)
	}
	done, err := snapshots.Restore(t.Context(), snapshots.RestoreConfig{From: from, At: instant, Data: dir, Keyring: keys, Log: quiet})
	must(t, err)
	return dir, done
}

// A backup of a running server is the store as it was then, and so is what is
// restored from it.
func TestARestoredStoreIsTheOneThatWasBackedUp(t *testing.T) {
	eachWay(t, func(t *testing.T, settle func(testing.TB) *town) {
		w := settle(t)
		h := open(t, w)
		backups := t.TempDir()
		saved := h.save(backups)
		n, _ := h.journal.LastGroup()
		if saved.Header.Group != n || saved.Header.Kind() != "full" {
			t.Errorf("the backup is %s, of group %d, and the store has %d", saved.Header.Kind(), saved.Header.Group, n)
		}
		h.close()
		dir, done := restored(t, saved.Path, "", keyring(t, w.dir))
		if done.Used != 1 || done.Header.ID != saved.Header.ID {
			t.Errorf("restored %+v", done)
		}
		if digestOf(t, dir) != digestOf(t, w.dir) {
			t.Error("the restored store means something else")
		}
	})
}

// Increments bring what came since, and take what was removed: sealed cards, what
// was due, daybooks, KVs. Any of them is restored to its own moment.
func TestEveryBackupOfAChainIsRestoredToItsMoment(t *testing.T) {
	w := settle(t)
	h := open(t, w)
	backups := t.TempDir()
	var saved []snapshots.Listed
	var digests [][32]byte
	for i := range 4 {
		switch i {
		case 1:
			h.create(w.first, payment.Payment, "4000000000000077", 900, "chain-1") // its card is sealed while it waits
			h.create(w.first, payment.Payment, "4000002500003155", 700, "chain-2") // so is this one's
		case 2:
			h.advance(time.Minute)
		case 3:
			h.advance(time.Hour)
			for range 40 {
				h.create(w.first, payment.Payment, "4242424242424242", 1_000, "")
			}
		}
		h.advance(time.Second)
		saved = append(saved, h.save(backups))
		h.close()
		digests = append(digests, digestOf(t, w.dir))
		h = openAt(t, w, saved[i].Header.TakenAt)
	}
	h.close()
	for i, s := range saved {
		if want := map[bool]string{true: "full", false: "incremental"}[i == 0]; s.Header.Kind() != want {
			t.Errorf("backup %d is %s", i, s.Header.Kind())
		}
		dir, done := restored(t, backups, s.Header.TakenAt.Format(time.RFC3339Nano), keyring(t, w.dir))
		if done.Used != i+1 || done.Header.Group != s.Header.Group {
			t.Errorf("backup %d: %d were used, to group %d", i, done.Used, done.Header.Group)
		}
		if digestOf(t, dir) != digests[i] {
			t.Errorf("backup %d: the restored store means something else", i)
		}
	}
}

// openAt opens a town's house at an instant.
func openAt(t testing.TB, w *town, at time.Time) *house {
	t.Helper()
	h := open(t, w)
	if at.After(h.clock.Now()) {
		must(t, h.runtime.Advance(at))
	}
	return h
}

// A server that starts from what was restored goes on with its journal, and the
// next increment rests on the backup that it came from.
func TestARestoredStoreGoesOn(t *testing.T) {
	w := settle(t)
	h := open(t, w)
	backups := t.TempDir()
	saved := h.save(backups)
	h.close()
	dir, _ := restored(t, backups, "", keyring(t, w.dir))
	must(t, os.Link(filepath.Join(w.dir, "keyring"), filepath.Join(dir, "keyring")))
	own := *w
	own.dir = dir
	h = openAt(t, &own, saved.Header.TakenAt)
	made := h.create(w.first, payment.Payment, "4242424242424242", 4_200, "after the restore")
	if made.Status != payment.Charged {
		t.Errorf("a payment after the restore is %v", made.Status)
	}
	next := h.save(backups)
	if next.Header.Since == nil || next.Header.Since.ID != saved.Header.ID || next.Header.Group <= saved.Header.Group {
		t.Errorf("the next backup is %+v", next.Header)
	}
	h.close()
	want := digestOf(t, dir)
	again, _ := restored(t, next.Path, "", keyring(t, w.dir))
	if digestOf(t, again) != want {
		t.Error("the second restore means something else")
	}
}

// While a backup is read others pay; it shows one moment all the same.
func TestABackupOfAStoreThatIsWrittenShowsOneMoment(t *testing.T) {
	w := settle(t)
	h := open(t, w)
	b, err := h.backups().Begin(nil)
	must(t, err)
	for range 200 {
		h.create(w.first, payment.Payment, "4242424242424242", 1_000, "")
	}
	h.advance(time.Minute)
	path := filepath.Join(t.TempDir(), "one"+snapshots.BackupSuffix)
	f, err := os.Create(path)
	must(t, err)
	_, err = b.WriteTo(f)
	must(t, errors.Join(err, f.Close()))
	b.Close()
	h.close()
	dir, _ := restored(t, path, "", keyring(t, w.dir))
	if got, want := digestOf(t, dir), digestOf(t, settle(t).dir); got != want {
		t.Error("the backup has something of what came after it")
	}
}

func TestOneBackupAtATime(t *testing.T) {
	h := open(t, settle(t))
	backups := h.backups()
	b, err := backups.Begin(nil)
	must(t, err)
	var refused *ledger.Refusal
	if _, err := backups.Begin(nil); !errors.As(err, &refused) || refused.Code != ledger.Conflict {
		t.Errorf("a second backup: %v", err)
	}
	b.Close()
	b, err = backups.Begin(nil)
	must(t, err)
	b.Close()
	backups.Close()
	if _, err := backups.Begin(nil); !errors.As(err, &refused) || refused.Code != ledger.Unavailable {
		t.Errorf("a backup of a server that stops: %v", err)
	}
	h.close()
}

// A stream that nobody reads on ends, and lets go of the store.
func TestAStreamThatIsClosedEarlyEnds(t *testing.T) {
	h := open(t, settle(t))
	backups := h.backups()
	for _, end := range []func(io.Closer){func(c io.Closer) { must(t, c.Close()) }, func(io.Closer) { backups.Stop() }} {
		stream, err := backups.Stream(nil)
		must(t, err)
		_, err = io.ReadFull(stream, make([]byte, 100))
		must(t, err)
		end(stream)
	}
	backups.Close() // waits for both
	h.close()
}

// An increment is only made to a backup of the same store's past.
func TestAnIncrementNeedsABackupOfThisStoresPast(t *testing.T) {
	h := open(t, settle(t))
	defer h.close()
	backups := h.backups()
	n, hash := h.journal.LastGroup()
	sound := snapshots.BackupBase{ID: "3d560634-e283-41f4-8987-8974726a90a5", Group: n, GroupHash: hexOf(hash[:]), Depth: 1}
	for name, spoil := range map[string]func(*snapshots.BackupBase){
		"another chain":    func(b *snapshots.BackupBase) { b.GroupHash = hexOf(make([]byte, 32)) },
		"a later group":    func(b *snapshots.BackupBase) { b.Group++ },
		"another group":    func(b *snapshots.BackupBase) { b.Group-- },
		"too long":         func(b *snapshots.BackupBase) { b.Depth = 1_000 },
		"no depth":         func(b *snapshots.BackupBase) { b.Depth = 0 },
		"an id that isn't": func(b *snapshots.BackupBase) { b.ID = "{" + b.ID + "}" },
	} {
		base := sound
		spoil(&base)
		var refused *ledger.Refusal
		b, err := backups.Begin(&base)
		if !errors.As(err, &refused) || refused.Field != "since" {
			t.Errorf("%s: %v, want a refusal of since", name, err)
		}
		if err == nil {
			b.Close()
		}
	}
	b, err := backups.Begin(&sound)
	must(t, err)
	b.Close()
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var text strings.Builder
	for _, c := range b {
		text.WriteByte(digits[c>>4])
		text.WriteByte(digits[c&15])
	}
	return text.String()
}

// chainOf is a directory with a full backup and an increment, and their keys.
func chainOf(t testing.TB) (dir string, full, increment snapshots.Listed, keys *secret.Keyring) {
	t.Helper()
	return chainIn(t, inDaybooks)
}

func chainIn(t testing.TB, days int) (dir string, full, increment snapshots.Listed, keys *secret.Keyring) {
	t.Helper()
	w := settleIn(t, days)
	h := open(t, w)
	dir = t.TempDir()
	full = h.save(dir)
	h.advance(time.Second)
	h.create(w.first, payment.Payment, "4242424242424242", 1_000, "increment")
	increment = h.save(dir)
	h.close()
	return dir, full, increment, keyring(t, w.dir)
}

// refuses wants a restore and a verification to fail with words, and nothing to be
// there afterwards.
func refuses(t *testing.T, from string, keys snapshots.Sealer, says string) {
	t.Helper()
	place := t.TempDir()
	_, err := snapshots.Restore(t.Context(), snapshots.RestoreConfig{From: from, Data: filepath.Join(place, "data"), Keyring: keys, Log: quiet})
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("a restore says %v, want something with %q", err, says)
	}
	if entries, err := os.ReadDir(place); err != nil || len(entries) > 0 {
		t.Errorf("the restore left %v, %v", entries, err)
	}
	if _, err := snapshots.VerifyBackup(t.Context(), from, time.Time{}, keys); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("a verification says %v, want something with %q", err, says)
	}
}

func TestABackupOfOtherKeysOrAnotherChainIsRefused(t *testing.T) {
	dir, full, increment, keys := chainOf(t)
	other, err := secret.CreateKeyring(filepath.Join(t.TempDir(), "keyring"), rand.Reader)
	must(t, err)
	refuses(t, full.Path, other, "made with another keyring")
	refuses(t, dir, other, "made with another keyring")

	strange, _, _, _ := chainIn(t, onPages)
	moved := filepath.Join(strange, filepath.Base(increment.Path))
	must(t, os.Link(increment.Path, moved))
	refuses(t, moved, keys, "rests on backup "+full.Header.ID)
	refuses(t, strange, keys, "backups of several stores")
	must(t, os.Rename(full.Path, filepath.Join(t.TempDir(), "away")))
	refuses(t, increment.Path, keys, "which is not beside it")
	refuses(t, t.TempDir(), keys, "there is no backup in it")
}

func TestARestoreNeedsAnEmptyPlace(t *testing.T) {
	dir, _, _, keys := chainOf(t)
	place := filepath.Join(t.TempDir(), "data")
	must(t, os.MkdirAll(filepath.Join(place, "something"), 0o700))
	cfg := snapshots.RestoreConfig{From: dir, Data: place, Keyring: keys, Log: quiet}
	if _, err := snapshots.Restore(t.Context(), cfg); !errors.Is(err, snapshots.ErrNotEmpty) {
		t.Errorf("a restore over something: %v", err)
	}
	must(t, os.Remove(filepath.Join(place, "something")))
	if _, err := snapshots.Restore(t.Context(), cfg); err != nil {
		t.Errorf("a restore into an empty directory: %v", err)
	}
	cfg.Data = filepath.Join(t.TempDir(), "none", "data")
	if _, err := snapshots.Restore(t.Context(), cfg); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a restore beside nothing: %v", err)
	}
}

// What a restore that was killed left is removed by the next one, unless it is
// still at work.
func TestAnUnfinishedRestoreIsReplaced(t *testing.T) {
	dir, _, _, keys := chainOf(t)
	place := filepath.Join(t.TempDir(), "data")
	must(t, os.MkdirAll(filepath.Join(place+snapshots.Restoring, "store.new"), 0o700))
	must(t, os.WriteFile(filepath.Join(place+snapshots.Restoring, store.UnfinishedName), nil, 0o600))
	cfg := snapshots.RestoreConfig{From: dir, Data: place, Keyring: keys, Log: quiet}
	unlock := lock(t, place+snapshots.Restoring)
	if _, err := snapshots.Restore(t.Context(), cfg); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a restore beside another: %v", err)
	}
	unlock()
	_, err := snapshots.Restore(t.Context(), cfg)
	must(t, err)
	if _, err := os.Stat(place + snapshots.Restoring); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the place of work is still there: %v", err)
	}
}

// Nothing that was ever told to the store stands in a backup as it was told.
func TestABackupShowsNothing(t *testing.T) {
	_, full, increment, _ := chainOf(t)
	for _, path := range []string{full.Path, increment.Path} {
		content, err := os.ReadFile(path)
		must(t, err)
		// None is so short that it may stand among so many random bytes.
		for _, told := range []string{"order-1", "simulator", "partner:", "shop.example", "42424242", "platform"} {
			if bytes.Contains(content, []byte(told)) {
				t.Errorf("%q stands in a backup", told)
			}
		}
	}
}

func TestARetentionKeepsWhatIncrementsRestOn(t *testing.T) {
	w := settle(t)
	h := open(t, w)
	backups := h.backups()
	dir := t.TempDir()
	_, others, _, _ := chainIn(t, onPages)
	strange := filepath.Join(dir, filepath.Base(others.Path))
	must(t, os.Link(others.Path, strange))
	spoiled := filepath.Join(dir, "spoiled"+snapshots.BackupSuffix)
	must(t, os.WriteFile(spoiled, []byte("no backup"), 0o600))
	var saved []string
	take := func() {
		t.Helper()
		h.advance(time.Second)
		s, err := backups.Save(dir)
		must(t, err)
		saved = append(saved, s.Path)
	}
	for range 30 { // 24 of one chain, 6 of the next
		take()
	}
	left := func() (n []int) {
		for i, path := range saved {
			if _, err := os.Stat(path); err == nil {
				n = append(n, i)
			}
		}
		return n
	}
	for _, step := range []struct {
		keep int
		left []int
	}{
		{8, append(upTo(0, 24), upTo(24, 30)...)}, // the two last of the first chain need all of it
		{6, upTo(24, 30)},
		{1, upTo(24, 30)},
	} {
		_, err := backups.Prune(dir, step.keep)
		must(t, err)
		if got := left(); !slices.Equal(got, step.left) {
			t.Errorf("keeping %d left %v, want %v", step.keep, got, step.left)
		}
	}
	backups.Close()
	h.close()
	for _, path := range []string{strange, spoiled} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("what is not this store's was removed: %v", err)
		}
	}
	restored(t, saved[len(saved)-1], "", keyring(t, w.dir))
}

func upTo(from, to int) (n []int) {
	for i := from; i < to; i++ {
		n = append(n, i)
	}
	return n
}

// A rail knows of calls that were made after the moment of a backup. A restored
// sandbox's has forgotten them, and no others.
func TestCallsAfterTheMomentAreTakenOutOfTheSimulatorsLog(t *testing.T) {
	w, later := settle(t), settle(t)
	log := func(w *town) string { return filepath.Join(w.dir, "simulator.log") }
	want, err := os.ReadFile(log(w))
	must(t, err)
	h := open(t, later)
	h.create(w.first, payment.Payment, "4242424242424242", 1_000, "later")
	h.create(w.second, payment.Payment, "4000000000000002", 1_000, "later")
	h.advance(time.Hour) // what waits at that moment is inquired, and booked
	h.close()
	grown, err := os.ReadFile(log(later))
	must(t, err)
	if !bytes.HasPrefix(grown, want) || len(grown) == len(want) {
		t.Fatal("the later log is not the earlier one and more")
	}
	must(t, os.WriteFile(log(w), append(grown, `{"torn":`...), 0o600))
	j := openJournal(t, w, nowhere{}, nil)
	backups := snapshots.NewBackups(snapshots.BackupOptions{Journal: j, Keyring: keyring(t, w.dir), Clock: nowhere{}, Data: w.dir, Log: quiet})
	saved, err := backups.Save(t.TempDir())
	must(t, err)
	backups.Close()
	must(t, j.Close())
	dir, _ := restored(t, saved.Path, "", keyring(t, w.dir))
	got, err := os.ReadFile(filepath.Join(dir, "simulator.log"))
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("the restored log has %d bytes, want the %d of that moment", len(got), len(want))
	}
	digestOf(t, dir)
}
