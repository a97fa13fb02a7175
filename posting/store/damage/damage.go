package damage

import "fmt"

// Error reports that the disk no longer has what was written to it.
type Error struct {
	Path string // the damaged file or directory; empty if only the damaged row is known, not its file
	What string // what is wrong, such as "its index does not fit"
}

// New returns an error about a file or directory. The format and args say what is wrong.
func New(path, format string, args ...any) *Error {
	return &Error{Path: path, What: fmt.Sprintf(format, args...)}
}

// Error returns the text of the error. The text ends with the advice to restore from a backup.
func (e *Error) Error() string {
	if e.Path == "" {
		return "the store is damaged: " + e.What + "; restore from a backup"
	}
	return fmt.Sprintf("the store is damaged: %s: %s; restore from a backup", e.Path, e.What)
}
