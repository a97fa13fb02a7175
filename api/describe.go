package api

import (
	"io"
	"log/slog"
	"time"

	"mizan/api/admin"
	"mizan/api/checkout"
	"mizan/api/contracts"
	"mizan/api/description"
	ledgerapi "mizan/api/ledger"
	"mizan/api/payments"
	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/internal/clock"
	"mizan/internal/secret"
)

// Describe returns the OpenAPI document that describes the API of a server with every route. It starts no server. The services
// in the Config here may be empty, because only the routes' handlers call them. The API's clients are generated from the
// description.
func Describe(version string) *description.Document {
	s := New(Config{
		Version:         version,
		Log:             slog.New(slog.DiscardHandler),
		Clock:           clock.Real{},
		Payments:        struct{ payments.Transactions }{},
		Directory:       struct{ Directory }{},
		Journal:         struct{ web.Journal }{},
		Advance:         func(time.Time) error { return nil },
		UsageReader:     struct{ admin.UsageReader }{},
		Pages:           payerpage.Pages{Tokens: new(secret.PageTokens)},
		Payers:          struct{ checkout.Payers }{},
		Challenges:      struct{ checkout.Challenges }{},
		ProviderUpdates: struct{ payments.Updates }{},
		Deliveries:      struct{ admin.Deliveries }{},
		Periods:         struct{ ledgerapi.Periods }{},
		Backup:          func(*admin.BackupBase) (io.ReadCloser, error) { return nil, nil },
		Contracts:       struct{ contracts.Service }{},
		Subscriptions:   struct{ payments.Subscriptions }{},
		Storefront:      struct{ Storefront }{},
		Turnover:        struct{ payments.Turnover }{},
		Front:           new(Front),
	})
	defer s.stop()
	return s.reference.Document()
}
