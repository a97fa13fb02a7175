package directory

import (
	"bytes"
	"errors"

	"mizan/ledger"
	"mizan/ledger/directory"
)

// What the two objects of a terminal's parameters, and a partner's secret, are
// sealed as.
const (
	sealedProvider = "provider_params"
	sealedMerchant = "merchant_params"
	sealedSecret   = "secret"
)

// sealTerminal is a terminal's record as it is stored. An object of parameters with
// what is never shown is sealed as a whole: in the clear it has masks.
func (s *Service) sealTerminal(t *directory.Terminal) ([]byte, error) {
	row := terminalRowOf(t)
	var err error
	if masked := directory.Masked(t.ProviderParams); t.Connection != nil || !bytes.Equal(masked, t.ProviderParams) {
		row.ProviderParams = masked
		if row.SealedParams, err = s.seal(t.ProviderParams, sealedProvider, t.Org, t.ID); err != nil {
			return nil, err
		}
	}
	if masked := directory.Masked(t.MerchantParams); !bytes.Equal(masked, t.MerchantParams) {
		row.MerchantParams = masked
		if row.SealedMerchant, err = s.seal(t.MerchantParams, sealedMerchant, t.Org, t.ID); err != nil {
			return nil, err
		}
	}
	return encode(row), nil
}

// openTerminal reads a terminal's record. One whose parameters don't open, as
// their sealing key is gone, is there without its keys and secrets: another platform
// refuses it and what it sends is not signed until they are set again, and everything
// else goes on.
func (s *Service) openTerminal(org, id ledger.ID, payload []byte) (*directory.Terminal, error) {
	var row terminalRow
	if err := decode(payload, &row); err != nil {
		return nil, err
	}
	t, err := terminalOf(org, id, &row)
	if err != nil {
		return nil, err
	}
	if len(row.SealedParams) > 0 {
		if t.ProviderParams, err = s.sealer.Open(row.SealedParams, sealedContext(sealedProvider, org, id)); err != nil {
			s.shut("what connects a terminal to its platform does not open: set its api_key and webhook_secret again", "terminal", id, err)
			t.ProviderParams = row.ProviderParams
		}
	}
	if len(row.SealedMerchant) > 0 {
		if t.MerchantParams, err = s.sealer.Open(row.SealedMerchant, sealedContext(sealedMerchant, org, id)); err != nil {
			s.shut("what signs a terminal's notifications does not open: set its secret again", "terminal", id, err)
			t.MerchantParams = row.MerchantParams
		}
	}
	if err := t.Reparse(); err != nil {
		return nil, err
	}
	if t.Connection != nil && len(row.SealedParams) == 0 {
		return nil, errForm
	}
	return t, nil
}

// sealPartner is a partner's record as it is stored: its secret is sealed.
func (s *Service) sealPartner(p *directory.Partner) ([]byte, error) {
	row := partnerRowOf(p)
	if p.Secret != "" {
		sealed, err := s.seal([]byte(p.Secret), sealedSecret, p.Org, p.ID)
		if err != nil {
			return nil, err
		}
		row.Sealed = sealed
	}
	return encode(row), nil
}

// openPartner reads a partner's record. One whose secret doesn't open is there
// without it, as openTerminal has it.
func (s *Service) openPartner(org, id ledger.ID, payload []byte) (*directory.Partner, error) {
	var row partnerRow
	if err := decode(payload, &row); err != nil {
		return nil, err
	}
	p, err := partnerOf(org, id, &row)
	if err != nil || len(row.Sealed) == 0 {
		return p, err
	}
	secret, err := s.sealer.Open(row.Sealed, sealedContext(sealedSecret, org, id))
	if err != nil {
		s.shut("what signs a partner's notifications does not open: set its secret again", "partner", id, err)
		return p, nil
	}
	p.Secret = string(secret)
	return p, nil
}

func (s *Service) seal(plaintext []byte, what string, org, id ledger.ID) ([]byte, error) {
	sealed, err := s.sealer.Seal(plaintext, sealedContext(what, org, id))
	if err != nil {
		return nil, ledger.Refuse("directory.seal", ledger.Unavailable, "the keyring can't seal %s", what)
	}
	return sealed, nil
}

// shut reports what does not open. To who has no keys that is nothing to report.
func (s *Service) shut(text, kind string, id ledger.ID, err error) {
	if s.sealer != NoKeys {
		s.rt.Log.Error(text, kind, id.String(), "error", err)
	}
}

// NoKeys is a Sealer without keys: it opens and seals nothing. It is for who
// changes nothing that is sealed and may have no keyring at hand; records of which
// something doesn't open by it are nothing to report.
var NoKeys Sealer = noKeys{}

type noKeys struct{}

var errNoKeys = errors.New("there are no keys")

// Seal implements Sealer.
func (noKeys) Seal([]byte, []byte) ([]byte, error) { return nil, errNoKeys }

// Open implements Sealer.
func (noKeys) Open([]byte, []byte) ([]byte, error) { return nil, errNoKeys }

// sealedContext ties what is sealed to its record, and to what it is of it.
func sealedContext(what string, org, id ledger.ID) []byte {
	return append(append(append(make([]byte, 0, len(what)+2*len(id)), what...), org[:]...), id[:]...)
}
