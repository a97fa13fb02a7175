package damage

import "fmt"

// Error reports that the disk does not hold what was written to it.
type Error struct {
	Path string // the file or directory; empty if only the row is known
	What string
}

// New returns an error for a file or directory. The format says what is wrong with it.
func New(path, format string, args ...any) *Error {
	return &Error{Path: path, What: fmt.Sprintf(format, args...)}
}

// Error returns the text, which ends with the advice to restore from a backup.
func (e *Error) Error() string {
	if e.Path == "" {
		return "the store is damaged: " + e.What + "; restore from a backup"
	}
	return fmt.Sprintf("the store is damaged: %s: %s; restore from a backup", e.Path, e.What)
}
