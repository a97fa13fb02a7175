package raft

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/hashicorp/go-hclog"
)

// repeatTime is how long a message of Raft's is not logged again. Raft reports several times a second that it does not reach
// a member.
const repeatTime = time.Minute

// newLogger returns a logger for Raft that writes to log. Raft reports elections at the level Info, and calls the loss of a
// connection an error; both are warnings here, because the group continues.
func newLogger(log *slog.Logger) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: "raft", Level: hclog.Warn, DisableTime: true, Output: slog.NewLogLogger(log.Handler(), slog.LevelWarn).Writer(),
		Exclude: make(loggedAt).isRepeat,
	})
}

// maxLogged is how many messages loggedAt knows.
const maxLogged = 1000

// loggedAt contains when each message about a member was last logged. The logger guards it.
type loggedAt map[string]time.Time

// isRepeat tells whether a message with the same text about the same member was logged within repeatTime. Raft's messages name
// the member in their first argument.
func (l loggedAt) isRepeat(_ hclog.Level, text string, args ...any) bool {
	key := text
	if len(args) > 1 {
		key = fmt.Sprint(text, " ", args[0], " ", args[1])
	}
	now := time.Now()
	if at, isKnown := l[key]; isKnown && now.Sub(at) < repeatTime {
		return true
	}
	if len(l) >= maxLogged {
		clear(l)
	}
	l[key] = now
	return false
}
