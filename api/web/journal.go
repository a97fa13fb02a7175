package web

import "mizan/posting"

// Journal gives handlers views of the store to read from; *posting.Journal implements it.
type Journal interface {
	// View returns a consistent state of the store. The caller closes it.
	View() *posting.View
}
