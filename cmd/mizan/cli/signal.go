package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// SignalContext returns a context that ends with the first SIGTERM or SIGINT. A second signal ends the
// process immediately.
func SignalContext() (ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2) // both signals may come before the goroutine runs
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
