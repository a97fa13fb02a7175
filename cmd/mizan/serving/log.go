package serving

import (
	"io"
	"log/slog"
)

// newLog is the server's own log. Nothing in it holds a body, a key, a token or
// a card: types that could are slog.LogValuers that redact themselves. The level may
// change while it is used.
func newLog(level slog.Leveler, format string, to io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
