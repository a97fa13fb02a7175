package browser_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"testing"
)

// merchant is the web server of a merchant.
type merchant struct{ server *httptest.Server }

// newMerchant starts a merchant's web server, which is stopped at the end of the test.
func newMerchant(t *testing.T) *merchant {
	mux := http.NewServeMux()
	page := func(path, body string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprintf(w, `<!DOCTYPE html><html lang="en"><title>Shop</title><link rel="icon" href="data:,"><h1>Shop</h1>%s</html>`, body)
		})
	}
	page("/ok", "<p>Thank you.</p>")
	page("/failed", "<p>Your cart is waiting.</p>")
	mux.HandleFunc("GET /frame", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<!DOCTYPE html><html lang="en"><title>Shop</title><link rel="icon" href="data:,"><iframe title="bank" width="600" height="600" src="%s"></iframe></html>`,
			html.EscapeString(r.URL.Query().Get("src")))
	})
	mux.HandleFunc("GET /faulty", showFaultyPage)
	m := &merchant{httptest.NewServer(mux)}
	t.Cleanup(m.server.Close)
	return m
}

// address returns the URL of a path on the merchant's server.
func (m *merchant) address(path string) string { return m.server.URL + path }
