package directory

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"unique"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/internal/assert"
	"mizan/internal/packed"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// The stored forms: one version byte, then a msgpack map with the names below. A name is never
// reused with another meaning. The record's key holds the id and its envelope the time of creation.
// Decoders check every value, because msgpack narrows and zero-fills silently.

const codecVersion = 1

var (
	errVersion = errors.New("unknown version")
	errForm    = errors.New("malformed")
	errMissing = errors.New("it is listed and not there")
)

type organizationRow struct {
	Name    string   `msgpack:"name"`
	Type    string   `msgpack:"type"`
	Status  string   `msgpack:"status"`
	Modules []string `msgpack:"modules,omitempty"`
	Regions []string `msgpack:"regions,omitempty"`
}

type partnerRow struct {
	Number    int64      `msgpack:"number"`
	Name      string     `msgpack:"name"`
	Login     string     `msgpack:"login"`
	PassHash  string     `msgpack:"pass_hash,omitempty"`
	Email     string     `msgpack:"email,omitempty"`
	Lang      string     `msgpack:"lang,omitempty"`
	NotifyURL string     `msgpack:"notify_url,omitempty"`
	Active    bool       `msgpack:"active"`
	Sources   []string   `msgpack:"sources,omitempty"`
	Overdraft []moneyRow `msgpack:"overdraft,omitempty"`
	Epoch     uint32     `msgpack:"epoch,omitempty"`
	Sealed    []byte     `msgpack:"sealed_secret,omitempty"`
}

// moneyRow is an asset and an amount in package money's binary forms.
type moneyRow struct {
	Asset  []byte `msgpack:"asset"`
	Amount []byte `msgpack:"amount"`
}

type terminalRow struct {
	Partner         int64  `msgpack:"partner"`
	Name            string `msgpack:"name"`
	Provider        string `msgpack:"provider,omitempty"`
	Type            string `msgpack:"type"`
	Active          bool   `msgpack:"active"`
	Env             string `msgpack:"env"`
	ProviderParams  []byte `msgpack:"provider_params,omitempty"`
	MerchantParams  []byte `msgpack:"merchant_params,omitempty"`
	MerchantAdapter string `msgpack:"merchant_adapter,omitempty"`
	SealedParams    []byte `msgpack:"sealed_params,omitempty"`          // provider_params without masks
	SealedMerchant  []byte `msgpack:"sealed_merchant_params,omitempty"` // merchant_params without masks
}

type keyRow struct {
	Partner int64  `msgpack:"partner"`
	Name    string `msgpack:"name"`
	Prefix  string `msgpack:"prefix"`
	Hash    []byte `msgpack:"hash"`
	Expires int64  `msgpack:"expires,omitempty"`
	Revoked int64  `msgpack:"revoked,omitempty"`
	Used    int64  `msgpack:"used,omitempty"`
}

type platformRow struct {
	NextPartner int64     `msgpack:"next_partner"`
	AdminTokens [][]byte  `msgpack:"admin_tokens,omitempty"`
	Retired     [][]byte  `msgpack:"retired,omitempty"`
	Sandbox     []demoRow `msgpack:"sandbox,omitempty"`
}

type demoRow struct {
	Org     []byte `msgpack:"org"`
	Partner int64  `msgpack:"partner"`
}

type rateRow struct {
	From string `msgpack:"from"`
	To   string `msgpack:"to"`
	Rate string `msgpack:"rate"` // as money.Rate writes it
}

// sealedRow is a stored reply; the ciphertext contains an answerRow.
type sealedRow struct {
	Sealed []byte `msgpack:"sealed"`
}

type answerRow struct {
	Status int    `msgpack:"status"`
	Body   []byte `msgpack:"body"`
}

func encode(row any) []byte {
	var out bytes.Buffer
	out.WriteByte(codecVersion)
	assert.NoError(msgpack.NewEncoder(&out).Encode(row))
	return out.Bytes()
}

func decode(payload []byte, row any) error {
	if len(payload) == 0 || payload[0] != codecVersion {
		return errVersion
	}
	if !packed.WellFormed(payload[1:]) {
		return errForm
	}
	if err := msgpack.Unmarshal(payload[1:], row); err != nil {
		return fmt.Errorf("%w: %w", errForm, err)
	}
	return nil
}

func encodeOrganization(o *directory.Organization) []byte {
	return encode(&organizationRow{o.Name, string(o.Type), string(o.Status), o.Modules, o.Regions})
}

func decodeOrganization(id ledger.ID, payload []byte) (*directory.Organization, error) {
	var row organizationRow
	if err := decode(payload, &row); err != nil {
		return nil, err
	}
	o := &directory.Organization{
		ID: id, Name: row.Name, Type: directory.OrgType(row.Type), Status: directory.OrgStatus(row.Status),
		Modules: row.Modules, Regions: row.Regions,
	}
	if o.Name == "" || !o.Type.Valid() || !o.Status.Valid() {
		return nil, errForm
	}
	return o, nil
}

func partnerRowOf(p *directory.Partner) *partnerRow {
	row := &partnerRow{
		Number: p.Number, Name: p.Name, Login: p.Login, PassHash: p.PassHash, Email: p.Email, Lang: p.Lang,
		NotifyURL: p.NotifyURL, Active: p.Active, Epoch: p.Epoch,
	}
	for _, source := range p.Sources {
		row.Sources = append(row.Sources, source.String())
	}
	for _, limit := range p.Overdraft {
		row.Overdraft = append(row.Overdraft, encodeMoney(limit.Asset, limit.Amount))
	}
	return row
}

func partnerOf(org, id ledger.ID, row *partnerRow) (*directory.Partner, error) {
	if row.Number < 1 || row.Login == "" {
		return nil, errForm
	}
	p := &directory.Partner{
		ID: id, Org: org, Number: row.Number, Name: row.Name, Login: row.Login, PassHash: row.PassHash, Email: row.Email,
		Lang: row.Lang, NotifyURL: row.NotifyURL, Active: row.Active, Epoch: row.Epoch,
	}
	for _, text := range row.Sources {
		source, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, errForm
		}
		p.Sources = append(p.Sources, source)
	}
	for _, limit := range row.Overdraft {
		asset, amount, err := decodeMoney(limit)
		if err != nil {
			return nil, err
		}
		p.Overdraft = append(p.Overdraft, directory.Overdraft{Asset: asset, Amount: amount})
	}
	return p, nil
}

func encodeMoney(asset money.Asset, amount money.Amount) moneyRow {
	return moneyRow{Asset: asset.AppendBinary(nil), Amount: amount.AppendBinary(nil)}
}

func decodeMoney(row moneyRow) (money.Asset, money.Amount, error) {
	asset, rest, err := money.ReadAsset(row.Asset)
	if err != nil || len(rest) != 0 {
		return money.Asset{}, money.Amount{}, errForm
	}
	amount, rest, err := money.ReadAmount(row.Amount)
	if err != nil || len(rest) != 0 {
		return money.Asset{}, money.Amount{}, errForm
	}
	return asset, amount, nil
}

func terminalRowOf(t *directory.Terminal) *terminalRow {
	return &terminalRow{
		Partner: t.Partner, Name: t.Name, Provider: t.Provider, Type: string(t.Type), Active: t.Active, Env: t.Env.String(),
		ProviderParams: t.ProviderParams, MerchantParams: t.MerchantParams, MerchantAdapter: t.MerchantAdapter,
	}
}

// terminalOf converts a row to a terminal; it leaves the parameters unparsed.
func terminalOf(org, id ledger.ID, row *terminalRow) (*directory.Terminal, error) {
	env, ok := money.ParseEnv(row.Env)
	t := &directory.Terminal{
		ID: id, Org: org, Partner: row.Partner, Name: row.Name, Provider: unique.Make(row.Provider).Value(), Type: directory.TerminalType(unique.Make(row.Type).Value()),
		Active: row.Active, Env: env, ProviderParams: row.ProviderParams, MerchantParams: row.MerchantParams,
		MerchantAdapter: row.MerchantAdapter,
	}
	if !ok || !t.Type.Valid() || t.Partner < 1 {
		return nil, errForm
	}
	return t, nil
}

func encodeKey(k *directory.APIKey) []byte {
	return encode(&keyRow{k.Partner, k.Name, k.Prefix, k.Hash[:], int64(k.Expires), int64(k.Revoked), int64(k.Used)})
}

func decodeKey(org, id ledger.ID, payload []byte) (*directory.APIKey, error) {
	var row keyRow
	if err := decode(payload, &row); err != nil {
		return nil, err
	}
	text := row.Name + row.Prefix // one object for both: there are very many keys
	k := &directory.APIKey{
		ID: id, Org: org, Partner: row.Partner, Name: text[:len(row.Name)], Prefix: text[len(row.Name):],
		Expires: ledger.Micros(row.Expires), Revoked: ledger.Micros(row.Revoked), Used: ledger.Micros(row.Used),
	}
	if copy(k.Hash[:], row.Hash) != len(k.Hash) || len(row.Hash) != len(k.Hash) || k.Partner < 1 || min(k.Expires, k.Revoked, k.Used) < 0 {
		return nil, errForm
	}
	return k, nil
}

func encodePlatform(p *directory.Platform) []byte {
	row := platformRow{NextPartner: p.NextPartner}
	for i := range p.AdminTokens {
		row.AdminTokens = append(row.AdminTokens, p.AdminTokens[i][:])
	}
	for i := range p.Retired {
		row.Retired = append(row.Retired, p.Retired[i][:])
	}
	for i := range p.Sandbox {
		row.Sandbox = append(row.Sandbox, demoRow{p.Sandbox[i].Org[:], p.Sandbox[i].Partner})
	}
	return encode(&row)
}

func decodePlatform(payload []byte) (*directory.Platform, error) {
	var row platformRow
	if err := decode(payload, &row); err != nil {
		return nil, err
	}
	if row.NextPartner < 1 {
		return nil, errForm
	}
	p := &directory.Platform{NextPartner: row.NextPartner}
	for _, token := range row.AdminTokens {
		if len(token) != 32 {
			return nil, errForm
		}
		p.AdminTokens = append(p.AdminTokens, [32]byte(token))
	}
	for _, token := range row.Retired {
		if len(token) != 32 {
			return nil, errForm
		}
		p.Retired = append(p.Retired, [32]byte(token))
	}
	for _, demo := range row.Sandbox {
		if len(demo.Org) != len(ledger.ID{}) || demo.Partner < 1 {
			return nil, errForm
		}
		p.Sandbox = append(p.Sandbox, directory.Demo{Org: ledger.ID(demo.Org), Partner: demo.Partner})
	}
	return p, nil
}

func encodeRate(r *directory.Rate) []byte {
	return encode(&rateRow{string(r.From), string(r.To), r.Value.String()})
}

func decodeRate(org, id ledger.ID, payload []byte) (*directory.Rate, error) {
	var row rateRow
	if err := decode(payload, &row); err != nil {
		return nil, err
	}
	from, known := money.Accepted(row.From)
	to, both := money.Accepted(row.To)
	value, err := money.ParseRate(row.Rate)
	if !known || !both || err != nil || value.String() != row.Rate || directory.RateID(org, from, to) != id {
		return nil, errForm
	}
	return &directory.Rate{ID: id, Org: org, From: from, To: to, Value: value}, nil
}

func encodeSealed(sealed []byte) []byte { return encode(&sealedRow{sealed}) }

func decodeSealed(payload []byte) ([]byte, error) {
	var row sealedRow
	if err := decode(payload, &row); err != nil {
		return nil, err
	}
	if len(row.Sealed) == 0 {
		return nil, errForm
	}
	return row.Sealed, nil
}

func encodeAnswer(a *Answer) []byte { return encode(&answerRow{a.Status, a.Body}) }

func decodeAnswer(plaintext []byte) (Answer, error) {
	var row answerRow
	if err := decode(plaintext, &row); err != nil {
		return Answer{}, err
	}
	if row.Status < 200 || row.Status > 299 { // only replies to successful writes are stored
		return Answer{}, errForm
	}
	return Answer{Status: row.Status, Body: row.Body}, nil
}
