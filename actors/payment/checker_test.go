package payment_test

import (
	"bytes"
	"context"
	"log/slog"

	"mizan/snapshots"
)

func init() {
	checked = func(h *house) {
		h.t.Helper()
		in := snapshots.Inputs{Data: h.dir, Log: slog.New(slog.DiscardHandler)}
		if h.scripted {
			in.Data = ""
		}
		report, err := snapshots.Check(context.Background(), h.journal, in)
		if err != nil {
			h.t.Error(err)
			return
		}
		if report.Broken() {
			var text bytes.Buffer
			_, _ = report.WriteTo(&text)
			h.t.Errorf("the checker says\n%s", text.String())
		}
	}
}
