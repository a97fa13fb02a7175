package raft

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A member that is not reached is logged once a minute, and messages about other members and other faults are not lost.
func TestRepeatedMessagesAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := newLogger(slog.New(slog.NewTextHandler(&out, nil)))
		for range 90 {
			logger.Error("failed to heartbeat to", "peer", "a:1", "backoff time", time.Now().UnixNano())
			logger.Error("failed to heartbeat to", "peer", "b:1")
			logger.Warn("failed to contact", "server-id", "a")
			logger.Info("too fine")
			<-time.After(time.Second)
		}
		for _, c := range []struct {
			text string
			want int
		}{{"a:1", 2}, {"b:1", 2}, {"contact", 2}, {"fine", 0}} {
			if n := strings.Count(out.String(), c.text); n != c.want {
				t.Errorf("%q was logged %d times, want %d", c.text, n, c.want)
			}
		}
		known := make(loggedAt)
		for i := range 3 * maxLogged {
			if known.isRepeat(0, fmt.Sprint(i)) || len(known) > maxLogged {
				t.Fatalf("message %d is a repeat, or too many of %d messages are known", i, len(known))
			}
		}
	})
}
