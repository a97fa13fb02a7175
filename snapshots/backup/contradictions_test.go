package backup_test

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
	"mizan/snapshots/backup"
	"mizan/snapshots/fixture"
)

// alteringSealer is a backup.Sealer that changes the plaintext before sealing it, or the sealed bytes afterwards.
type alteringSealer struct {
	backup.Sealer
	changePlaintext func(plaintext, context []byte) []byte // nil: the plaintext is not changed
	changeSealed    func(sealed, context []byte) []byte    // nil: the sealed bytes are not changed
}

// Seal implements backup.Sealer.
func (s alteringSealer) Seal(plaintext, context []byte) ([]byte, error) {
	if s.changePlaintext != nil {
		plaintext = s.changePlaintext(plaintext, context)
	}
	sealed, err := s.Sealer.Seal(plaintext, context)
	if s.changeSealed != nil {
		sealed = s.changeSealed(sealed, context)
	}
	return sealed, err
}

// isManifestContext tells whether a context is one with which a manifest is sealed.
func isManifestContext(context []byte) bool {
	return bytes.HasPrefix(context, []byte("mizan backup manifest"))
}

// manifestAlteringSealer returns a sealer that changes the manifest before sealing it.
func manifestAlteringSealer(t testing.TB, keys backup.Sealer, change func(*backup.Manifest)) backup.Sealer {
	return alteringSealer{Sealer: keys, changePlaintext: func(plaintext, context []byte) []byte {
		if !isManifestContext(context) {
			return plaintext
		}
		var manifest backup.Manifest
		fixture.Must(t, json.Unmarshal(plaintext, &manifest))
		change(&manifest)
		changed, err := json.Marshal(&manifest, json.Deterministic(true))
		fixture.Must(t, err)
		return changed
	}}
}

// writeBackup writes a backup, sealed by keys, to a file and returns its path. Before that, changeHeader changes the
// backup's header; nil: the header stays as it is.
func writeBackup(server *fixture.Server, dir string, keys backup.Sealer, base *backup.Base, changeHeader func(*backup.Header)) string {
	server.T.Helper()
	service := backup.New(backup.Options{Journal: server.Journal, Keyring: keys, Clock: server.Clock, Data: server.Dir, Log: fixture.NoLog})
	b, err := service.Begin(base)
	fixture.Must(server.T, err)
	defer b.Close()
	if changeHeader != nil {
		b.ChangeHeader(changeHeader)
	}
	f, err := os.CreateTemp(dir, "*"+backup.Suffix)
	fixture.Must(server.T, err)
	_, err = b.WriteTo(f)
	fixture.Must(server.T, errors.Join(err, f.Close()))
	return f.Name()
}

// A backup whose manifest contradicts its rows is not restored, even if everything is sealed
// with the right keys.
func TestBackupWhoseManifestContradictsItsRowsIsNotRestored(t *testing.T) {
	server := fixture.Start(t, fixture.Copy(t))
	defer server.Close()
	keys := fixture.Keyring(t, server.Dir)
	// All keys but the last are different parts of one and the same message. They differ because the keys of a map must.
	for wantText, change := range map[string]func(*backup.Manifest){
		"do not end where its manifest says": func(m *backup.Manifest) { m.Heads[0].Size++ },
		"the restored journals do not end":   func(m *backup.Manifest) { m.Heads[0].Root[0] ^= 1 },
		"restored journals do not end where": func(m *backup.Manifest) { m.Heads = m.Heads[1:] },
		"journals do not end where its":      func(m *backup.Manifest) { m.Heads[0].Organization = "3d560634-e283-41f4-8987-8974726a90a5" },
		"the restored placements of organizations": func(m *backup.Manifest) {
			m.Placements = append(m.Placements, backup.Placement{State: store.Left, Shard: 1})
		},
	} {
		path := writeBackup(server, t.TempDir(), manifestAlteringSealer(t, keys, change), nil, nil)
		if parent, err := tryRestore(t, path, keys); err == nil || !strings.Contains(err.Error(), wantText) {
			t.Errorf("a restore says %v, want something with %q", err, wantText)
		} else if entries, err := os.ReadDir(parent); err != nil || len(entries) > 0 {
			t.Errorf("the restore left %v, %v", entries, err)
		}
	}
	for _, changeHeader := range []func(*backup.Header){
		func(h *backup.Header) { h.Group++ },
		func(h *backup.Header) { h.GroupHash = strings.Repeat("0", 64) },
	} {
		wantRefused(t, writeBackup(server, t.TempDir(), keys, nil, changeHeader), keys, "its rows end with group")
	}
	newerSchemaSealer := manifestAlteringSealer(t, keys, func(m *backup.Manifest) { m.Schema++ })
	wantRefused(t, writeBackup(server, t.TempDir(), newerSchemaSealer, nil, nil), keys, store.ErrNewerSchema.Error())
	olderSchemaSealer := manifestAlteringSealer(t, keys, func(m *backup.Manifest) { m.Schema-- })
	wantRefused(t, writeBackup(server, t.TempDir(), olderSchemaSealer, nil, nil), keys, store.ErrOlderSchema.Error())
	otherHeaderSealer := manifestAlteringSealer(t, keys, func(m *backup.Manifest) { m.Header.TakenAt = m.Header.TakenAt.Add(time.Second) })
	wantRefused(t, writeBackup(server, t.TempDir(), otherHeaderSealer, nil, nil), keys, "its header is not the one of its manifest")
	path := writeBackup(server, t.TempDir(), keys, nil, func(h *backup.Header) { h.Version++ })
	wantRefused(t, path, keys, "it was made by another release")
}

// tryRestore restores a backup into a new directory below parent. If the restore fails, parent must be empty afterwards.
func tryRestore(t *testing.T, from string, keys backup.Sealer) (parent string, err error) {
	t.Helper()
	parent = t.TempDir()
	_, err = backup.Restore(t.Context(), backup.RestoreConfig{From: from, Data: filepath.Join(parent, "data"), Keyring: keys, Log: fixture.NoLog})
	return parent, err
}

// An increment has only the rows that were written after one group of changes. It is not restored if the backup that
// it names as its base ends with an earlier group, because rows would be missing.
func TestIncrementIsRestoredOnlyOnTheBaseThatItNames(t *testing.T) {
	source := fixture.Copy(t)
	server := fixture.Start(t, source)
	defer server.Close()
	keys, dir := fixture.Keyring(t, source.Dir), t.TempDir()
	full := saveBackup(server, dir).Header
	base := full.Base()
	server.Create(source.FirstDemo, payment.Payment, "4242424242424242", 1_000, "between")
	n, hash := server.Journal.LastGroup()
	base.Group, base.GroupHash = n, hexOf(hash[:])
	server.Create(source.FirstDemo, payment.Payment, "4242424242424242", 1_000, "after")
	wantRefused(t, writeBackup(server, dir, keys, &base, nil), keys, "its base is not the backup in")
}

// The checker runs before a restored directory gets its name. A store that was broken when it
// was backed up is not restored.
func TestBackupOfABrokenStoreIsNotRestored(t *testing.T) {
	source := fixture.Copy(t)
	source.Corrupt(t, func(p *fixture.Corrupter) {
		p.Group.Delete(store.KeyClaim(nil, source.FirstDemo.Org, ledger.ClaimTxID, "1/order-2"))
	})
	server := fixture.Start(t, source)
	saved := saveBackup(server, t.TempDir())
	server.Close()
	keys := fixture.Keyring(t, source.Dir)
	if _, err := backup.Verify(t.Context(), saved.Path, time.Time{}, keys); err != nil {
		t.Errorf("a whole backup: %v", err)
	}
	parent := t.TempDir()
	result, err := backup.Restore(t.Context(), backup.RestoreConfig{From: saved.Path, Data: filepath.Join(parent, "data"), Keyring: keys, Log: fixture.NoLog})
	if err == nil || !strings.Contains(err.Error(), "the checker found the restored store broken") || result == nil || !result.Report.Broken() {
		t.Errorf("a restore of a broken store: %+v, %v", result, err)
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) > 0 {
		t.Errorf("the restore left %v, %v", entries, err)
	}
}

// If a backup is read with the wrong keys, the reading can be interrupted before the end of the file.
func TestReadingABackupWithWrongKeysCanBeInterrupted(t *testing.T) {
	_, full, _, _ := backUpChain(t)
	otherKeys, err := secret.CreateKeyring(filepath.Join(t.TempDir(), "keyring"), rand.Reader)
	fixture.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := backup.Verify(ctx, full.Path, time.Time{}, otherKeys); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted verification: %v", err)
	}
}

// A backup gets its name only after it was read again, so a backup that was damaged while it was written gets none.
func TestBackupThatCannotBeReadBackGetsNoName(t *testing.T) {
	server := fixture.Start(t, fixture.Copy(t))
	defer server.Close()
	dir := t.TempDir()
	spoilingSealer := alteringSealer{Sealer: fixture.Keyring(t, server.Dir), changeSealed: func(sealed, context []byte) []byte {
		if !isManifestContext(context) {
			sealed[len(sealed)/2] ^= 1
		}
		return sealed
	}}
	backups := backup.New(backup.Options{Journal: server.Journal, Keyring: spoilingSealer, Clock: server.Clock, Data: server.Dir, Log: fixture.NoLog})
	if _, err := backups.Save(dir); err == nil || !strings.Contains(err.Error(), "the backup is damaged: part 1 can't be decrypted") {
		t.Errorf("a backup that was damaged while it was written: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
}

// While a backup is taken, the store can't reclaim space. So no backup is taken while the disk is nearly full.
func TestNoBackupIsTakenWhileTheDiskIsNearlyFull(t *testing.T) {
	source := fixture.Copy(t)
	o := fixture.Options(source.Dir)
	o.MinFree = 1 << 62
	j, err := posting.Open(posting.Options{Store: o, Clock: fixedClock{}, Log: fixture.NoLog})
	fixture.Must(t, err)
	defer func() { fixture.Must(t, j.Close()) }()
	dir := t.TempDir()
	backups := backup.New(backup.Options{Journal: j, Keyring: fixture.Keyring(t, source.Dir), Clock: fixedClock{}, Data: source.Dir, Log: fixture.NoLog})
	var refusal *ledger.Refusal
	if _, err := backups.Save(dir); !errors.As(err, &refusal) || refusal.Code != ledger.Unavailable || !strings.Contains(err.Error(), "the disk is nearly full") {
		t.Errorf("a backup on a full disk: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
}
