package serving

import (
	"io"
	"log/slog"
)

// jsonFormat is the value of --log-format that makes each log line a JSON object.
const jsonFormat = "json"

// newLog returns the server's own log. No entry contains a request body, a key, a token or a card number: each type that could
// contain one implements slog.LogValuer and redacts itself. The level may change while the log is used.
func newLog(level slog.Leveler, format string, to io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == jsonFormat {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
