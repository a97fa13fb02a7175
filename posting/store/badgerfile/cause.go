package badgerfile

import "strings"

// maxCause is the maximum length in bytes of the text that Cause returns.
const maxCause = 300

// Cause returns the text of the innermost cause of an error of Badger. Cause drops the text that Badger wraps around
// the cause, because it may be pages long and contain keys. The result is one line of at most 300 bytes.
func Cause(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, " err: "); i >= 0 {
		text = text[i+len(" err: "):]
	}
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), maxCause)]
}
