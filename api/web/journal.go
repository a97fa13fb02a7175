package web

import "mizan/posting"

// Journal gives handlers views to read from; *posting.Journal is one.
type Journal interface {
	// View returns a consistent state of the store. The caller closes it.
	View() *posting.View
}
