package cli

import (
	"io"
	"log"
	"strings"
)

// StoreLinePrefix begins the line of a fault of the store.
const StoreLinePrefix = "mizan: storage: "

// TakeLibraryLog replaces the output of package log, which this program does not use. Two libraries do: Badger logs
// one line before it ends the process with code 1, and that line gets the form that other faults of the store have.
// Package net/http logs bytes that another server has sent without a request. Such a message is dropped, because a
// log never contains a body.
func TakeLibraryLog(stderr io.Writer) {
	log.SetFlags(0)
	log.SetPrefix("")
	log.SetOutput(libraryLog{stderr})
}

// libraryLog is the output of package log.
type libraryLog struct{ stderr io.Writer }

// Write implements io.Writer. It gets one message at a time.
func (l libraryLog) Write(message []byte) (int, error) {
	text := string(message)
	if strings.HasPrefix(text, "Unsolicited response received") {
		return len(message), nil
	}
	if _, err := io.WriteString(l.stderr, StoreLinePrefix+"store: "+strings.TrimSpace(OneLine(text))+"\n"); err != nil {
		return 0, err
	}
	return len(message), nil
}
