package serving

import (
	"io"
	"log/slog"
)

// jsonFormat is the value of --log-format with which each log line is a JSON object.
const jsonFormat = "json"

// newLog returns the server's own log. No entry contains a body, a key, a token or a card,
// because types that could contain one are slog.LogValuers that redact themselves. The level
// may change while the log is used.
func newLog(level slog.Leveler, format string, to io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == jsonFormat {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
