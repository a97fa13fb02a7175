package developer_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mizan/cmd/mizan/client"
	"mizan/cmd/mizan/client/developer"
)

const organization = "3d560634-e283-41f4-8987-8974726a90a5"

// flagsOf returns the flags with which a command uses the server that a test imitates.
func flagsOf(t *testing.T, server *httptest.Server) (flags client.ServerFlags, tokenFile *string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("mzx_token"), 0o600); err != nil {
		t.Fatal(err)
	}
	organization := organization
	flags.URL, flags.Organization = &server.URL, &organization
	return flags, &file
}

// wantFault checks that err is a fault with this exit code and text.
func wantFault(t *testing.T, err error, code int, text string) {
	t.Helper()
	var fault *client.Fault
	if !errors.As(err, &fault) || fault.Code != code || !strings.Contains(fault.Error(), text) {
		t.Errorf("ended with %v, want code %d and %q", err, code, text)
	}
}

// After a broken connection, listen continues its stream, so that the secret stays the same. If the server refuses to continue
// it, the command ends. A notification is forwarded to the given address only: like an ordinary delivery, listen follows no
// redirect.
func TestListenContinuesItsStreamAndFollowsNoRedirect(t *testing.T) {
	var forwarded []string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		forwarded = append(forwarded, r.URL.Path)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer receiver.Close()
	const stream = "f0b6ac47-fb98-4496-b1aa-601a0f5d967b"
	var connections []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections = append(connections, r.URL.Query().Get("stream_id"))
		if len(connections) > 1 {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprint(w, `{"error":"unauthorized"}`)
			return
		}
		_, _ = fmt.Fprintf(w, "event: ready\ndata: {\"stream_id\":%q,\"organization_id\":%q,\"secret\":\"whsec_1\"}\n\n", stream, organization)
		_, _ = fmt.Fprint(w, "event: notification\ndata: {\"type\":\"transaction.charged\",\"headers\":{},\"body\":\"{}\"}\n\n")
		_, _ = fmt.Fprint(w, "event: end\ndata: {\"reason\":\"time\",\"message\":\"connect again\"}\n\n")
	}))
	defer server.Close()
	var out, notes bytes.Buffer
	command := developer.Listen{ForwardTo: &receiver.URL, JSON: true}
	command.ServerFlags, command.TokenFile = flagsOf(t, server)
	wantFault(t, command.Run(&client.Streams{Out: &out, Err: &notes}), client.ExitMisused, "unauthorized")
	if want := []string{"", stream}; !slices.Equal(connections, want) {
		t.Errorf("connected with %q, want %q", connections, want)
	}
	if !slices.Equal(forwarded, []string{"/"}) || !strings.Contains(out.String(), `"status":307,"error":null`) {
		t.Errorf("forwarded to %q:\n%s", forwarded, out.String())
	}
	if !strings.Contains(notes.String(), "mizan: listen: connect again; connecting again\n") {
		t.Errorf("noted %q", notes.String())
	}
}

// pay and trigger make no payment on a server that is no sandbox.
func TestPaymentsAreMadeInASandboxOnly(t *testing.T) {
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r.Method+" "+r.URL.Path)
		_, _ = fmt.Fprint(w, `{"status":"ok","env":"production"}`)
	}))
	defer server.Close()
	pay, trigger := developer.Pay{}, developer.Trigger{Event: "transaction.charged"}
	pay.ServerFlags, pay.TokenFile = flagsOf(t, server)
	trigger.ServerFlags, trigger.TokenFile = pay.ServerFlags, pay.TokenFile
	pay.Amount, pay.Currency, trigger.Amount, trigger.Currency = "10.00", "USD", "10.00", "USD"
	for _, run := range []func(*client.Streams) error{pay.Run, trigger.Run} {
		wantFault(t, run(&client.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}), client.ExitMisused, server.URL+" is no sandbox")
	}
	if want := "GET /api/v1/health"; !slices.Equal(requests, []string{want, want}) {
		t.Errorf("requests %q, want only those of the health", requests)
	}
}
