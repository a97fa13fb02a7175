package simulator

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// ChallengePath is the URL path of the challenge page, on which a payer approves or refuses a charge. A request passes
// the three parameters below in its query or as a posted form.
const ChallengePath = "/simulator/challenge"

// The challenge page's parameters.
const (
	TerminalParam  = "terminal"
	ReferenceParam = "reference"
	TokenParam     = "token"
)

// States of a challenge.
const (
	ChallengeOpen     = "waiting"
	ChallengeAnswered = "answered" // the payer has decided, or the charge was voided, so nothing is left to decide
)

// passwordMaterial is the value of additional_params_for_auth if a charge requires a one-time password.
const passwordMaterial = `{"type":"otp","digits":6}`

// ErrNoChallenge is returned if the charge does not exist or has no challenge, or if the token belongs to another
// charge. The error is the same in all these cases, so that guessing reveals nothing.
var ErrNoChallenge = errors.New("simulator: no such challenge")

// Challenge is the content of the challenge page.
type Challenge struct {
	Amount    string      // decimal digits, in minor units of Asset
	Asset     money.Asset // the asset of Amount
	State     string      // ChallengeOpen or ChallengeAnswered
	ReturnURL string      // address to which the payer returns afterwards; empty if the call had none
}

// action returns what the payer of the line's charge has to do. The result shares no memory with the line.
func (s *Simulator) action(line *record) *payment.Action {
	token := s.challengeToken(line.terminal, line.reference)
	query := url.Values{
		TerminalParam: {line.terminal.String()}, ReferenceParam: {line.reference.String()}, TokenParam: {token},
	}
	address := s.challengeURL + "?" + query.Encode()
	switch line.charge.payerAction {
	case actionRedirect:
		return &payment.Action{Type: "redirect", Method: "get", URL: address}
	case actionForm:
		return &payment.Action{
			Type: "auth_3ds_form", Method: "post", URL: s.challengeURL, Page: address,
			Params: payment.ActionParams(map[string]string{
				TerminalParam: line.terminal.String(), ReferenceParam: line.reference.String(), TokenParam: token,
			}),
		}
	case actionPassword:
		return &payment.Action{Type: "none", Material: []byte(passwordMaterial), Requires: []string{"otp"}}
	case actionSignature:
		material := appendText(nil, `{"payload":`, line.charge.payload(line.reference))
		material = append(strconv.AppendUint(append(material, `,"sequence":`...), line.charge.sequence, 10), '}')
		return &payment.Action{Type: "none", Material: material, Requires: []string{"signature"}, ExpiresAt: ledger.MicrosOf(line.charge.expires)}
	case actionChoice:
		return &payment.Action{Destinations: slices.Clone(destinations)}
	}
	if line.charge.payerAction == actionDeposit {
		deposit := line.depositAddress()
		return &payment.Action{Page: address, Code: deposit, Deposit: deposit}
	}
	return &payment.Action{Page: address, Code: address}
}

// depositAddress returns the address to which the payer of the line's charge is to send the money. The text
// is deliberately invalid as a wallet address, because money that somebody really sent there would be lost.
func (line *record) depositAddress() string {
	network := string(assetOf(line.charge.asset).Network)
	if network == "" {
		network = "chain"
	}
	digest := sha256.Sum256(append(line.terminal[:], line.reference[:]...))
	return "simulated-" + network + "-" + hex.EncodeToString(digest[:20])
}

// challengeToken returns the token that authorizes its holder to decide on one charge. The token is derived from
// Options.Key, so it need not be stored.
func (s *Simulator) challengeToken(terminal, reference ledger.ID) string {
	mac := hmac.New(sha256.New, s.key[:])
	_, _ = mac.Write(terminal[:]) // a hash never fails
	_, _ = mac.Write(reference[:])
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Challenge returns the content of the challenge page for a charge. The token is the one in the address of the page.
// The error is ErrNoChallenge, or says that the log cannot be read.
func (s *Simulator) Challenge(terminal, reference ledger.ID, token string) (Challenge, error) {
	key := appendKey(make([]byte, 0, keySize), terminal, reference)
	line, err := s.challengedLine(key, s.index.hash(key), s.challengeToken(terminal, reference), token)
	if err != nil {
		return Challenge{}, err
	}
	c := &line.charge
	shown := Challenge{Amount: c.amount.String(), Asset: assetOf(c.asset), State: ChallengeAnswered, ReturnURL: c.returnURL}
	if c.awaitsPayer() {
		shown.State = ChallengeOpen
	}
	return shown, nil
}

// Decide writes the payer's decision on the challenge page to the log; a later Complete call carries it out. A second
// decision changes nothing, and neither does a decision on a charge that was given up. Decide returns the address to
// which the payer goes next, and the charge's organization. The error is ErrNoChallenge, or says that the log cannot be
// read, written or synced.
func (s *Simulator) Decide(terminal, reference ledger.ID, token string, approve bool) (returnURL string, org ledger.ID, err error) {
	returnURL, org, b, err := s.writeDecision(terminal, reference, token, approve)
	if err == nil {
		err = s.wait(b)
	}
	if err != nil {
		return "", ledger.ID{}, err
	}
	return returnURL, org, nil
}

// writeDecision locks the charge and writes the payer's decision. The results may be passed on to the payer
// only once the returned batch is durable.
func (s *Simulator) writeDecision(terminal, reference ledger.ID, token string, approve bool) (returnURL string, org ledger.ID, b *batch, err error) {
	key := appendKey(make([]byte, 0, keySize), terminal, reference)
	hash := s.index.hash(key)
	chargeLock := &s.chargeLocks[hash%lockCount]
	chargeLock.Lock()
	defer chargeLock.Unlock()
	newest, err := s.challengedLine(key, hash, s.challengeToken(terminal, reference), token)
	if err != nil {
		return "", ledger.ID{}, nil, err
	}
	line := *newest
	if !line.charge.awaitsPayer() {
		return line.charge.returnURL, line.org, newest.batch, nil
	}
	line.charge.answer = answerRejected
	if approve {
		line.charge.answer = answerApproved
	}
	line.call = callFields{operation: challengeOperation, outcome: string(line.charge.answer)}
	line.before = newest.offset
	s.lockForLine()
	defer s.mu.Unlock()
	if b, err = s.write(key, hash, &line); err != nil {
		return "", ledger.ID{}, nil, err
	}
	return line.charge.returnURL, line.org, b, nil
}

// challengedLine returns the newest line of a charge if the charge has, or had, a challenge page and the
// presented token is valid. Otherwise it returns ErrNoChallenge.
func (s *Simulator) challengedLine(key []byte, hash uint64, validToken, presentedToken string) (*record, error) {
	if !hmac.Equal([]byte(presentedToken), []byte(validToken)) {
		return nil, ErrNoChallenge
	}
	line, err := s.newestLine(context.Background(), key, hash)
	if err != nil {
		return nil, err
	}
	if line == nil || !line.charge.payerAction.isOnPage() {
		return nil, ErrNoChallenge
	}
	return line, nil
}

// assetOf parses text that money.Asset.String wrote. The text contains no escapes, because no currency
// of the platform has a character that String escapes.
func assetOf(text string) money.Asset {
	env, currencyAndNetwork, _ := strings.Cut(text, "/")
	currency, network, _ := strings.Cut(currencyAndNetwork, "/")
	parsedEnv, _ := money.ParseEnv(env)
	return money.Asset{Currency: money.Currency(currency), Network: money.Network(network), Env: parsedEnv}
}
