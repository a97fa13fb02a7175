package directory

import (
	"context"
	"slices"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// MinAdminToken is the minimum length in bytes of an administration token that an operator supplies.
const MinAdminToken = 16

// CreateAdminToken makes a further administration token. Errors are *ledger.Refusal.
func (s *Service) CreateAdminToken(ctx context.Context) (secret.Text, error) {
	token := secret.NewToken(adminPrefix, s.random)
	if err := s.AdmitAdminToken(ctx, []byte(token)); err != nil {
		return "", err
	}
	return secret.Text(token), nil
}

// AdmitAdminToken adds an administration token that the operator has chosen. If the token is already in force, nothing
// changes. Errors are *ledger.Refusal.
func (s *Service) AdmitAdminToken(ctx context.Context, token []byte) error {
	const op = "directory.AdmitAdminToken"
	if len(token) < MinAdminToken {
		return ledger.Refuse(op, ledger.Invalid, "an administration token has at least %d bytes", MinAdminToken)
	}
	hash := secret.HashToken(token)
	return s.changePlatform(ctx, op, func(p *directory.Platform) (*directory.Platform, error) { return p.AcceptAdminToken(hash) })
}

// RotateAdminToken replaces an administration token by a new token, in one Change. Errors are *ledger.Refusal. If the old
// token is not in force, the code is Unauthorized.
func (s *Service) RotateAdminToken(ctx context.Context, token []byte) (secret.Text, error) {
	hash, retired := secret.HashToken(token), secret.Text(token)
	return s.rotate(ctx, retired, func(p *directory.Platform, successor [32]byte) (*directory.Platform, error) {
		return p.RotateAdminToken(hash, successor)
	})
}

// RotateAllAdminTokens replaces all administration tokens by one new token. Errors are *ledger.Refusal. If the store has
// no token yet, because no server has run on it, the code is Conflict.
func (s *Service) RotateAllAdminTokens(ctx context.Context) (secret.Text, error) {
	return s.rotate(ctx, "", func(p *directory.Platform, successor [32]byte) (*directory.Platform, error) {
		if len(p.AdminTokens) == 0 {
			return nil, ledger.Refuse("directory.RotateAllAdminTokens", ledger.Conflict, "there is no administration token yet")
		}
		return p.RotateAllAdminTokens(successor), nil
	})
}

// OnRotation registers a function that is called with a retired administration token and the token that replaces it. The
// call takes place after the rotation is durable and before RotateAdminToken returns. Call OnRotation before the first
// command.
func (s *Service) OnRotation(fn func(retired, successor secret.Text)) { s.onRotation = fn }

func (s *Service) rotate(ctx context.Context, retired secret.Text, change func(p *directory.Platform, successor [32]byte) (*directory.Platform, error)) (secret.Text, error) {
	successor := secret.Text(secret.NewToken(adminPrefix, s.random))
	var next *directory.Platform
	err := s.write(ctx, directory.PlatformOrg, "directory.RotateAdminToken", func(ledger.Micros) (*posting.Change, any, error) {
		old := s.platform.Load()
		var err error
		if next, err = change(old.record, secret.HashToken([]byte(successor))); err != nil {
			return nil, nil, err
		}
		return &posting.Change{Steps: []posting.Step{
			stepWithoutSecrets(directory.Platforms, directory.PlatformOrg, old.header.Version, next, next.RotationEvent()),
		}}, successor, nil
	}, func(headers []posting.RecordHeader) {
		s.putPlatform(next, headers[0])
		if s.onRotation != nil && retired != "" {
			s.onRotation(retired, successor)
		}
	})
	if err != nil {
		return "", err
	}
	return successor, nil
}

// AdminTokenRetired tells whether the token was once in force and has since been replaced.
func (s *Service) AdminTokenRetired(token []byte) bool {
	return slices.Contains(s.platform.Load().record.RetiredTokens, secret.HashToken(token))
}

// changePlatform makes the platform's next record durable. The author of the record's event is the service itself, not
// the caller, because a reserved partner number may be used for any organization.
func (s *Service) changePlatform(ctx context.Context, op string, change func(*directory.Platform) (*directory.Platform, error)) error {
	var next *directory.Platform
	return s.run(ctx, directory.PlatformOrg, op, func(ledger.Micros) (*posting.Change, error) {
		old := s.platform.Load()
		var err error
		if next, err = change(old.record); err != nil || next == old.record {
			return nil, err
		}
		return &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{platformStep(old.header.Version, next)}}, nil
	}, func(headers []posting.RecordHeader) {
		s.putPlatform(next, headers[0])
	})
}

func platformStep(expect uint64, p *directory.Platform) posting.Step {
	return stepWithoutSecrets(directory.Platforms, directory.PlatformOrg, expect, p, p.ChangeEvent(expect == 0))
}

// maxSpareNumbers is the maximum number of reserved partner numbers that are kept for future partners; further numbers
// are lost.
const maxSpareNumbers = 1024

// reservePartnerNumber returns a partner number whose reservation is durable.
func (s *Service) reservePartnerNumber(ctx context.Context) (int64, error) {
	if number, ok := s.takeSpareNumber(); ok {
		return number, nil
	}
	var number int64
	err := s.changePlatform(ctx, "directory.reserve", func(p *directory.Platform) (next *directory.Platform, err error) {
		next, number = p.ReservePartnerNumber()
		return next, nil
	})
	if err != nil {
		return 0, err
	}
	return number, nil
}

func (s *Service) takeSpareNumber() (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.spareNumbers) == 0 {
		return 0, false
	}
	least := slices.Index(s.spareNumbers, slices.Min(s.spareNumbers))
	number := s.spareNumbers[least]
	s.spareNumbers = slices.Delete(s.spareNumbers, least, least+1)
	return number, true
}

// returnNumber keeps a reserved but unused number for the next partner.
func (s *Service) returnNumber(number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.spareNumbers) < maxSpareNumbers {
		s.spareNumbers = append(s.spareNumbers, number)
	}
}

// certainlyRefused tells whether the error means that a partner was certainly not created, so that the number can be used
// for another partner. After a time-out or a fault, the partner may have been created.
func certainlyRefused(err error) bool {
	switch ledger.CodeOf(err) {
	case ledger.Conflict, ledger.Invalid, ledger.NotFound:
		return true
	}
	return false
}
