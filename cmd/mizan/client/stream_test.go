package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"mizan/cmd/mizan/client"
)

// The remaining time of an export is computed from the length that its server expects.
func TestStreamHasTheLengthThatTheServerExpects(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("mzs_x"), 0o600); err != nil {
		t.Fatal(err)
	}
	organization := "3d560634-e283-41f4-8987-8974726a90a5"
	for sent, want := range map[string]uint64{"1234": 1234, "": 0, "-1": 0, "many": 0} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if sent != "" {
				w.Header().Set("X-Estimated-Bytes", sent)
			}
			_, _ = io.WriteString(w, "content")
		}))
		var flags client.LedgerFlags
		flags.URL, flags.TokenFile, flags.Organization = &server.URL, &token, &organization
		ledger, err := flags.Open("audit export", &client.Streams{Out: io.Discard, Err: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		stream, err := ledger.Stream(t.Context(), "/ledger/export", nil)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(stream)
		if err != nil || string(content) != "content" || stream.EstimatedBytes != want {
			t.Errorf("%q: %d bytes are expected, want %d; read %q, %v", sent, stream.EstimatedBytes, want, content, err)
		}
		_ = stream.Close()
		server.Close()
	}
}
