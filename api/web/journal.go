package web

import "mizan/posting"

// Journal gives handlers views of the store, from which they read; *posting.Journal implements it.
type Journal interface {
	// View returns a view of the store at one moment. The caller must close the view.
	View() *posting.View
}
