package cli

import (
	"io"
	"log"
	"strings"
)

// StoreLinePrefix is the beginning of a line about a fault of the store.
const StoreLinePrefix = "mizan: storage: "

// RedirectLibraryLog redirects the output of package log to stderr. Only two libraries use that package. Badger logs one line
// before it ends the process with code 1. This line gets the same prefix as all faults of the store. Package net/http logs the
// bytes of a response that a server sends without a request. RedirectLibraryLog drops this message, because a log must never
// contain the body of a response.
func RedirectLibraryLog(stderr io.Writer) {
	log.SetFlags(0)
	log.SetPrefix("")
	log.SetOutput(libraryLog{stderr})
}

// libraryLog is the io.Writer to which package log writes.
type libraryLog struct{ stderr io.Writer }

// Write implements io.Writer. Package log calls it once for each message.
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
