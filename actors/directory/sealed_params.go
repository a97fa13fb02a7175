package directory

import (
	"errors"

	"mizan/ledger"
	"mizan/ledger/directory"
)

// encodeConnected is a terminal's record as it is stored. What connects it to
// another platform is sealed: in the clear its parameters have masks.
func (s *Service) encodeConnected(t *directory.Terminal) ([]byte, error) {
	if t.Connection == nil {
		return encodeTerminal(t), nil
	}
	sealed, err := s.sealer.Seal(t.ProviderParams, paramsContext(t.Org, t.ID))
	if err != nil {
		return nil, ledger.Refuse("directory.encodeConnected", ledger.Unavailable, "the keyring can't seal the parameters")
	}
	row := terminalRowOf(t)
	row.ProviderParams, row.SealedParams = directory.Masked(t.ProviderParams), sealed
	return encode(row), nil
}

// decodeConnected reads a terminal's record. One whose parameters don't open, as
// its sealing key is gone, is there without its keys: the other platform refuses
// it until they are set again, and everything else goes on.
func (s *Service) decodeConnected(org, id ledger.ID, payload []byte) (*directory.Terminal, error) {
	t, err := decodeTerminal(org, id, payload)
	if err != nil || t.Connection == nil {
		return t, err
	}
	var row terminalRow
	if err := decode(payload, &row); err != nil {
		return nil, err
	}
	if len(row.SealedParams) == 0 {
		return nil, errForm
	}
	if t.ProviderParams, err = s.sealer.Open(row.SealedParams, paramsContext(org, id)); err != nil {
		if s.sealer != NoKeys {
			s.rt.Log.Error("what connects a terminal to its platform does not open: set its api_key and webhook_secret again", "terminal", id.String(), "error", err)
		}
		t.ProviderParams = row.ProviderParams
	}
	return t, t.Reparse()
}

// NoKeys is a Sealer without keys: it opens and seals nothing. It is for who
// changes nothing that is sealed and may have no keyring at hand; terminals whose
// parameters don't open by it are nothing to report.
var NoKeys Sealer = noKeys{}

type noKeys struct{}

var errNoKeys = errors.New("there are no keys")

// Seal implements Sealer.
func (noKeys) Seal([]byte, []byte) ([]byte, error) { return nil, errNoKeys }

// Open implements Sealer.
func (noKeys) Open([]byte, []byte) ([]byte, error) { return nil, errNoKeys }

// paramsContext ties sealed parameters to their terminal.
func paramsContext(org, id ledger.ID) []byte {
	const what = "provider_params"
	return append(append(append(make([]byte, 0, len(what)+2*len(id)), what...), org[:]...), id[:]...)
}
