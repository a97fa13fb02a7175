package directory

import "context"

type rehearsalInContext struct{}

// Rehearse returns a context with which a write is a dry run: it checks everything and changes
// nothing. Its error is the refusal that the write would get; its other results are meaningless. It
// serves a request that is already known to be wrong, so that the answer can name all faults at
// once.
func Rehearse(ctx context.Context) context.Context {
	return context.WithValue(ctx, rehearsalInContext{}, true)
}

// rehearsed tells whether the write is a dry run.
func rehearsed(ctx context.Context) bool {
	rehearsal, _ := ctx.Value(rehearsalInContext{}).(bool)
	return rehearsal
}
