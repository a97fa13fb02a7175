package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// SignalContext returns a context that ends at the first SIGTERM or SIGINT. A second signal ends the process immediately.
func SignalContext() (ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2) // both signals may arrive before the goroutine runs
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, isOpen := <-signals; !isOpen {
			return
		}
		cancel()
		if secondSignal, isOpen := <-signals; isOpen {
			signal.Reset()
			_ = syscall.Kill(syscall.Getpid(), secondSignal.(syscall.Signal))
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		<-done
		cancel()
	}
}
