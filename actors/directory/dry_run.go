package directory

import "context"

type dryRunKey struct{}

// WithDryRun returns a context with which a write is a dry run: it checks everything and changes
// nothing. Its error is the refusal that the write would get; its other results are meaningless. It
// serves a request that is already known to be wrong, so that the answer can name all faults at
// once.
func WithDryRun(ctx context.Context) context.Context {
	return context.WithValue(ctx, dryRunKey{}, true)
}

// isDryRun tells whether the write is a dry run.
func isDryRun(ctx context.Context) bool {
	dry, _ := ctx.Value(dryRunKey{}).(bool)
	return dry
}
