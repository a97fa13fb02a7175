package web

import "mizan/posting"

// Journal is where reads come from; *posting.Journal is one.
type Journal interface {
	View() *posting.View
}
