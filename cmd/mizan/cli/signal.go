package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Interruptible ends with the first SIGTERM or SIGINT. A second one ends the
// process at once, as if it had not been caught.
func Interruptible() (ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2) // both may come before anybody looks
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, caught := <-signals; !caught {
			return
		}
		cancel()
		if second, caught := <-signals; caught {
			signal.Reset()
			_ = syscall.Kill(syscall.Getpid(), second.(syscall.Signal))
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		<-ended
		cancel()
	}
}
