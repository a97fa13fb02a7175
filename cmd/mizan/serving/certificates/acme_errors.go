package certificates

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"mizan/cmd/mizan/cli"
)

// maxResponse is the maximum size of an authority's response in bytes. The largest responses are certificate chains.
const maxResponse = 1 << 20

// validationErrorLog is an HTTP transport for requests to an authority. It logs why the authority could not verify a domain,
// because the package autocert does not report the reason.
type validationErrorLog struct {
	inner http.RoundTripper
	log   *slog.Logger
}

// authorization decodes the parts of an ACME authorization (RFC 8555, 7.1.4) that say why a domain could not be verified.
type authorization struct {
	Status     string
	Identifier struct{ Value string }
	Challenges []struct {
		Type  string
		Error *struct{ Type, Detail string }
	}
}

// RoundTrip implements http.RoundTripper.
func (r *validationErrorLog) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.inner.RoundTrip(request)
	if err != nil || !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		return response, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	var a authorization
	if json.Unmarshal(body, &a) == nil && a.Status == "invalid" {
		for _, challenge := range a.Challenges {
			if challenge.Error != nil {
				r.log.Error("the certificate authority could not verify a domain", "domain", a.Identifier.Value, "challenge", challenge.Type,
					"error", cli.OneLine(challenge.Error.Detail))
			}
		}
	}
	return response, nil
}
