package testkit

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
)

var worldBegan = time.Date(2026, 9, 3, 10, 15, 30, 0, time.UTC)

// recordChange returns a change that stores a record.
func recordChange(org, id ledger.ID) *posting.Change {
	return &posting.Change{Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.User, ID: id}, Record: []byte{7}, Events: []ledger.Event{{Name: "create", To: "active"}},
	}}}
}

func (w *World) has(t *testing.T, org, id ledger.ID) bool {
	t.Helper()
	v := w.Journal.View()
	defer v.Close()
	_, found, err := v.Record(org, ledger.Source{Kind: ledger.User, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestReopenedWorldKeepsItsRecords(t *testing.T) {
	w, org, id := NewWorld(t, worldBegan), uuid.New(), uuid.New()
	w.Open()
	w.MustSubmit(recordChange(org, id))
	w.Close()
	w.Close()
	w.OpenJournal()
	if !w.has(t, org, id) {
		t.Error("the record is gone")
	}
}

func TestWorldsOfAnImageAreIndependent(t *testing.T) {
	w, org, id := NewWorld(t, worldBegan), uuid.New(), uuid.New()
	w.Open()
	w.MustSubmit(recordChange(org, id))
	if err := w.Clock.Set(worldBegan.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	image, laterID := w.Image(), uuid.New()
	for range 2 {
		copied := image.World(t)
		if !copied.Clock.Now().Equal(w.Clock.Now()) || copied.Keyring.VerifierKey() != w.Keyring.VerifierKey() {
			t.Error("it has another time or another keyring")
		}
		copied.Open()
		if !copied.has(t, org, id) || copied.has(t, org, laterID) {
			t.Error("it does not have what the image had")
		}
		copied.MustSubmit(recordChange(org, laterID))
		info, err := os.Stat(filepath.Join(copied.Dir, keyringName))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the keyring's file: %v %v", info, err)
		}
	}
}
