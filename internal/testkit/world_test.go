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

var worldStart = time.Date(2026, 9, 3, 10, 15, 30, 0, time.UTC)

// recordChange returns a change that stores a record.
func recordChange(org, id ledger.ID) *posting.Change {
	return &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.User, ID: id}, Record: []byte{7}, Events: []ledger.Event{{Name: "create", To: "active"}},
	}}}
}

func (w *World) hasRecord(t *testing.T, org, id ledger.ID) bool {
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
	w, org, id := NewWorld(t, worldStart), uuid.New(), uuid.New()
	w.Open()
	w.MustSubmit(recordChange(org, id))
	w.Close()
	w.Close()
	w.OpenJournal()
	if !w.hasRecord(t, org, id) {
		t.Error("the record is gone")
	}
}

func TestWorldsOfAnImageAreIndependent(t *testing.T) {
	w, org, id := NewWorld(t, worldStart), uuid.New(), uuid.New()
	w.Open()
	w.MustSubmit(recordChange(org, id))
	if err := w.Clock.Set(worldStart.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	image, laterID := w.Image(), uuid.New()
	for range 2 {
		fromImage := image.World(t)
		if !fromImage.Clock.Now().Equal(w.Clock.Now()) || fromImage.Keyring.VerifierKey() != w.Keyring.VerifierKey() {
			t.Error("it has another time or another keyring")
		}
		fromImage.Open()
		if !fromImage.hasRecord(t, org, id) || fromImage.hasRecord(t, org, laterID) {
			t.Error("it does not have what the image had")
		}
		fromImage.MustSubmit(recordChange(org, laterID))
		info, err := os.Stat(filepath.Join(fromImage.Dir, keyringFile))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the keyring's file: %v %v", info, err)
		}
	}
}
