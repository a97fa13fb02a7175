package badgerfile

import "strings"

// maxCause is the maximum number of bytes of an error of Badger that are reported.
const maxCause = 300

// Cause returns the text of the innermost cause of an error of Badger. The texts that Badger wraps
// around it may be pages long and contain keys. The text is one line of at most 300 bytes.
func Cause(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, " err: "); i >= 0 {
		text = text[i+len(" err: "):]
	}
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), maxCause)]
}
