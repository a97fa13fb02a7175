package admin

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mizan/actors/notifier"
)

// followed is a follower with ten notifications a second until busyUntil, and none afterwards.
type followed struct{ busyUntil time.Time }

// Next implements follower.
func (f followed) Next(ctx context.Context) (*notifier.Notification, error) {
	if time.Now().Before(f.busyUntil) {
		<-time.After(100 * time.Millisecond) // in the fake time of package synctest
		return &notifier.Notification{Type: "transaction.charged"}, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Close implements follower.
func (followed) Close() {}

// streamOf returns the stream of a listener, as the handler makes it.
func streamOf(t *testing.T, listener follower, isCallerGone func() bool) *notificationStream {
	return &notificationStream{
		listener: listener, serving: t.Context(), isCallerGone: isCallerGone,
		lookup: callerCheckInterval, keepalive: keepaliveInterval, endsAt: time.Now().Add(streamTime), lastSent: time.Now(),
	}
}

// A stream ends after an hour, whether it is busy or quiet, so that its caller has to send the token again.
func TestStreamEndsInTime(t *testing.T) {
	for name, busy := range map[string]time.Duration{"busy": 2 * streamTime, "quiet": 0} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			content, err := io.ReadAll(streamOf(t, followed{began.Add(busy)}, func() bool { return false }))
			if took := time.Since(began); err != nil || took < streamTime || took > streamTime+2*callerCheckInterval {
				t.Errorf("%s: ended with %v after %v", name, err, took)
			}
			want := "event: end\ndata: {\"reason\":\"time\",\"message\":\"the stream has lasted 1h0m0s: connect again\"}\n\n"
			if !strings.HasSuffix(string(content), want) {
				t.Errorf("%s: ends with %q", name, content[max(0, len(content)-200):])
			}
		})
	}
}

// A quiet stream sends comments, because proxies and callers close a connection without data.
func TestQuietStreamHasAComment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := streamOf(t, followed{}, func() bool { return false })
		for range 3 {
			piece := make([]byte, 100)
			n, err := s.Read(piece)
			if took := time.Since(began); err != nil || string(piece[:n]) != ": still here\n\n" || took < keepaliveInterval || took > keepaliveInterval+callerCheckInterval {
				t.Errorf("%q, %v after %v", piece[:n], err, took)
			}
			began = time.Now()
		}
	})
}

// Nothing is written on a quiet stream, so the server has to check the connection to notice that its caller is gone.
func TestQuietStreamEndsWhenItsCallerGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := time.Now().Add(5 * time.Second)
		_, err := io.ReadAll(streamOf(t, followed{}, func() bool { return time.Now().After(gone) }))
		if late := time.Since(gone); !errors.Is(err, errCallerGone) || late > 2*callerCheckInterval {
			t.Errorf("ended with %v, %v after its caller", err, late)
		}
	})
}
