package directory

import (
	"bytes"
	"errors"

	"mizan/ledger"
	"mizan/ledger/directory"
)

// The names under which a terminal's two parameter objects and a partner's secret are sealed;
// sealedContext includes them.
const (
	sealedProvider = "provider_params"
	sealedMerchant = "merchant_params"
	sealedSecret   = "secret"
)

// sealTerminal encodes a terminal's record for the store. An object of parameters that contains
// secret values is sealed as a whole; the copy in the clear shows masks in place of the secrets.
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

// openTerminal decodes a terminal's record. If the parameters do not open because their sealing key
// is gone, the terminal is loaded without its keys and secrets: another platform refuses its
// requests and its notifications are not signed until they are set again, but everything else
// works.
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

// sealPartner encodes a partner's record for the store, with its secret sealed.
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

// openPartner decodes a partner's record. If its secret does not open, the partner is loaded
// without it, as openTerminal does.
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

// shut logs a secret that does not open. With NoKeys it logs nothing, because no secret opens then.
func (s *Service) shut(text, kind string, id ledger.ID, err error) {
	if s.sealer != NoKeys {
		s.rt.Log.Error(text, kind, id.String(), "error", err)
	}
}

// NoKeys is a Sealer without keys: it opens and seals nothing. It is for callers that change
// nothing sealed and may have no keyring; secrets that do not open under it are not logged.
var NoKeys Sealer = noKeys{}

type noKeys struct{}

var errNoKeys = errors.New("there are no keys")

// Seal implements Sealer.
func (noKeys) Seal([]byte, []byte) ([]byte, error) { return nil, errNoKeys }

// Open implements Sealer.
func (noKeys) Open([]byte, []byte) ([]byte, error) { return nil, errNoKeys }

// sealedContext binds a ciphertext to its record and field.
func sealedContext(what string, org, id ledger.ID) []byte {
	return append(append(append(make([]byte, 0, len(what)+2*len(id)), what...), org[:]...), id[:]...)
}
