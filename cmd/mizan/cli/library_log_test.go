package cli

import (
	"bytes"
	"log"
	"os"
	"testing"
)

func TestLinesOfLibrariesAreFaultsOfTheStoreOrDropped(t *testing.T) {
	flags, prefix := log.Flags(), log.Prefix()
	t.Cleanup(func() {
		log.SetFlags(flags)
		log.SetPrefix(prefix)
		log.SetOutput(os.Stderr)
	})
	var stderr bytes.Buffer
	RedirectLibraryLog(&stderr)
	log.Printf(" err: %v\nwhile it %s", "readdirent x: input/output error", "opens") // as Badger does before it ends the process
	if got, want := stderr.String(), "mizan: storage: store: err: readdirent x: input/output error; while it opens\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	stderr.Reset()
	log.Printf("Unsolicited response received on idle HTTP channel starting with %q; err=%v", "a body", nil)
	if stderr.Len() > 0 {
		t.Errorf("a body is in the log: %q", stderr.String())
	}
}
