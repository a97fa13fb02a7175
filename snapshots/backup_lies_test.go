package snapshots_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots"
)

// sealer seals something else than it was given, or spoils what it has sealed.
type sealer struct {
	snapshots.Sealer
	before func(plaintext, context []byte) []byte
	after  func(sealed, context []byte) []byte
}

// Seal implements snapshots.Sealer.
func (s sealer) Seal(plaintext, context []byte) ([]byte, error) {
	if s.before != nil {
		plaintext = s.before(plaintext, context)
	}
	sealed, err := s.Sealer.Seal(plaintext, context)
	if s.after != nil {
		sealed = s.after(sealed, context)
	}
	return sealed, err
}

// ofManifest tells whether it is the manifest that is sealed.
func ofManifest(context []byte) bool {
	return bytes.HasPrefix(context, []byte("mizan backup manifest"))
}

// misstates is a sealer of manifests that say something else.
func misstates(t testing.TB, keys snapshots.Sealer, change func(*snapshots.Manifest)) snapshots.Sealer {
	return sealer{Sealer: keys, before: func(plaintext, context []byte) []byte {
		if !ofManifest(context) {
			return plaintext
		}
		var m snapshots.Manifest
		must(t, json.Unmarshal(plaintext, &m))
		change(&m)
		changed, err := json.Marshal(&m, json.Deterministic(true))
		must(t, err)
		return changed
	}}
}

// written is the file of a backup that keys seal and that claims to be another.
func (h *house) written(dir string, keys snapshots.Sealer, base *snapshots.BackupBase, claim func(*snapshots.BackupHeader)) string {
	h.t.Helper()
	service := snapshots.NewBackups(snapshots.BackupOptions{Journal: h.journal, Keyring: keys, Clock: h.clock, Data: h.dir, Log: quiet})
	b, err := service.Begin(base)
	must(h.t, err)
	defer b.Close()
	if claim != nil {
		b.Claim(claim)
	}
	f, err := os.CreateTemp(dir, "*"+snapshots.BackupSuffix)
	must(h.t, err)
	_, err = b.WriteTo(f)
	must(h.t, errors.Join(err, f.Close()))
	return f.Name()
}

// A backup whose manifest says one thing and whose rows say another is not restored,
// though all of it was sealed with the right keys.
func TestABackupThatContradictsItselfIsNotRestored(t *testing.T) {
	h := open(t, settle(t))
	defer h.close()
	keys := keyring(t, h.dir)
	for says, change := range map[string]func(*snapshots.Manifest){
		"do not end where its manifest says": func(m *snapshots.Manifest) { m.Heads[0].Size++ },
		"the restored journals do not end":   func(m *snapshots.Manifest) { m.Heads[0].Root[0] ^= 1 },
		"restored journals do not end where": func(m *snapshots.Manifest) { m.Heads = m.Heads[1:] },
		"journals do not end where its":      func(m *snapshots.Manifest) { m.Heads[0].Organization = "3d560634-e283-41f4-8987-8974726a90a5" },
	} {
		path := h.written(t.TempDir(), misstates(t, keys, change), nil, nil)
		if place, err := restoring(t, path, keys); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("a restore says %v, want something with %q", err, says)
		} else if entries, err := os.ReadDir(place); err != nil || len(entries) > 0 {
			t.Errorf("the restore left %v, %v", entries, err)
		}
	}
	for _, claim := range []func(*snapshots.BackupHeader){
		func(b *snapshots.BackupHeader) { b.Group++ },
		func(b *snapshots.BackupHeader) { b.GroupHash = strings.Repeat("0", 64) },
	} {
		refuses(t, h.written(t.TempDir(), keys, nil, claim), keys, "its rows end with group")
	}
	newer := misstates(t, keys, func(m *snapshots.Manifest) { m.Schema++ })
	refuses(t, h.written(t.TempDir(), newer, nil, nil), keys, store.ErrNewerSchema.Error())
	older := misstates(t, keys, func(m *snapshots.Manifest) { m.Schema-- })
	refuses(t, h.written(t.TempDir(), older, nil, nil), keys, store.ErrOlderSchema.Error())
	strange := misstates(t, keys, func(m *snapshots.Manifest) { m.Header.TakenAt = m.Header.TakenAt.Add(time.Second) })
	refuses(t, h.written(t.TempDir(), strange, nil, nil), keys, "its header is not the one of its manifest")
	path := h.written(t.TempDir(), keys, nil, func(b *snapshots.BackupHeader) { b.Version++ })
	refuses(t, path, keys, "it was made by another release")
}

// restoring restores into a place of its own.
func restoring(t *testing.T, from string, keys snapshots.Sealer) (place string, err error) {
	t.Helper()
	place = t.TempDir()
	_, err = snapshots.Restore(t.Context(), snapshots.RestoreConfig{From: from, Data: filepath.Join(place, "data"), Keyring: keys, Log: quiet})
	return place, err
}

// What an increment was taken since has to be the backup that it names: that one's
// rows and its own are all.
func TestAnIncrementRestsOnTheBackupThatItNames(t *testing.T) {
	w := settle(t)
	h := open(t, w)
	defer h.close()
	keys, dir := keyring(t, w.dir), t.TempDir()
	full := h.save(dir).Header
	base := full.Base()
	h.create(w.first, payment.Payment, "4242424242424242", 1_000, "between")
	n, hash := h.journal.LastGroup()
	base.Group, base.GroupHash = n, hexOf(hash[:])
	h.create(w.first, payment.Payment, "4242424242424242", 1_000, "after")
	refuses(t, h.written(dir, keys, &base, nil), keys, "it rests on another backup than")
}

// The checker runs before a directory has its name: a store that was broken when it
// was backed up is not handed out as a good one.
func TestABackupOfABrokenStoreIsNotRestored(t *testing.T) {
	w := settle(t)
	w.plant(t, func(p *planter) { p.group.Delete(store.KeyClaim(nil, w.first.Org, ledger.ClaimTxID, "1/order-2")) })
	h := open(t, w)
	saved := h.save(t.TempDir())
	h.close()
	keys := keyring(t, w.dir)
	if _, err := snapshots.VerifyBackup(t.Context(), saved.Path, time.Time{}, keys); err != nil {
		t.Errorf("a whole backup: %v", err)
	}
	place := t.TempDir()
	done, err := snapshots.Restore(t.Context(), snapshots.RestoreConfig{From: saved.Path, Data: filepath.Join(place, "data"), Keyring: keys, Log: quiet})
	if err == nil || !strings.Contains(err.Error(), "the checker found the restored store broken") || done == nil || !done.Report.Broken() {
		t.Errorf("a restore of a broken store: %+v, %v", done, err)
	}
	if entries, err := os.ReadDir(place); err != nil || len(entries) > 0 {
		t.Errorf("the restore left %v, %v", entries, err)
	}
}

// Whoever has the wrong keys and a large backup need not wait for the end of it.
func TestLookingForWhatIsWrongWithABackupCanBeInterrupted(t *testing.T) {
	_, full, _, _ := chainOf(t)
	other, err := secret.CreateKeyring(filepath.Join(t.TempDir(), "keyring"), rand.Reader)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := snapshots.VerifyBackup(ctx, full.Path, time.Time{}, other); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted verification: %v", err)
	}
}

// A backup has its name when it was read back: what the disk has spoiled never gets
// one.
func TestABackupThatCannotBeReadBackIsNotKept(t *testing.T) {
	h := open(t, settle(t))
	defer h.close()
	dir := t.TempDir()
	spoils := sealer{Sealer: keyring(t, h.dir), after: func(sealed, context []byte) []byte {
		if !ofManifest(context) {
			sealed[len(sealed)/2] ^= 1
		}
		return sealed
	}}
	backups := snapshots.NewBackups(snapshots.BackupOptions{Journal: h.journal, Keyring: spoils, Clock: h.clock, Data: h.dir, Log: quiet})
	if _, err := backups.Save(dir); err == nil || !strings.Contains(err.Error(), "the backup is damaged: part 1 does not open") {
		t.Errorf("a backup that was spoiled: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
}

// A backup keeps the store from giving room back, so there is none on a disk that is
// nearly full.
func TestNoBackupIsTakenWhileTheDiskIsLow(t *testing.T) {
	w := settle(t)
	o := options(w.dir)
	o.MinFree = 1 << 62
	j, err := posting.Open(posting.Options{Store: o, Clock: nowhere{}, Log: quiet})
	must(t, err)
	defer func() { must(t, j.Close()) }()
	dir := t.TempDir()
	backups := snapshots.NewBackups(snapshots.BackupOptions{Journal: j, Keyring: keyring(t, w.dir), Clock: nowhere{}, Data: w.dir, Log: quiet})
	var refused *ledger.Refusal
	if _, err := backups.Save(dir); !errors.As(err, &refused) || refused.Code != ledger.Unavailable || !strings.Contains(err.Error(), "the disk is nearly full") {
		t.Errorf("a backup on a full disk: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
}
