package directory

import "context"

type rehearsalInContext struct{}

// Rehearse has a write that the context is given to check everything and to
// change nothing: its error is what the write would be refused with, and what it
// returns besides means nothing. It is for a request that is wrong already, of
// which all that is wrong is to be told at once.
func Rehearse(ctx context.Context) context.Context {
	return context.WithValue(ctx, rehearsalInContext{}, true)
}

// rehearsed tells whether nothing is to be changed.
func rehearsed(ctx context.Context) bool {
	rehearsal, _ := ctx.Value(rehearsalInContext{}).(bool)
	return rehearsal
}
