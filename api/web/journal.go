package web

import "mizan/posting"

// Journal is where handlers read; *posting.Journal is one.
type Journal interface {
	// View is a consistent state of the store. The caller closes it.
	View() *posting.View
}
