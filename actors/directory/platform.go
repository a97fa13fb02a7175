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

// MintAdminToken makes another administration token. Errors are *ledger.Refusal.
func (s *Service) MintAdminToken(ctx context.Context) (secret.Text, error) {
	token := secret.NewToken(adminPrefix, s.random)
	if err := s.AdmitAdminToken(ctx, []byte(token)); err != nil {
		return "", err
	}
	return secret.Text(token), nil
}

// AdmitAdminToken adds an administration token that the operator has chosen. A token that is already in
// force changes nothing. Errors are *ledger.Refusal.
func (s *Service) AdmitAdminToken(ctx context.Context, token []byte) error {
	const op = "directory.AdmitAdminToken"
	if len(token) < MinAdminToken {
		return ledger.Refuse(op, ledger.Invalid, "an administration token has at least %d bytes", MinAdminToken)
	}
	hash := secret.HashToken(token)
	return s.changePlatform(ctx, op, func(p *directory.Platform) (*directory.Platform, error) { return p.AcceptAdminToken(hash) })
}

// RotateAdminToken retires the administration token and makes another in its place, in one Change. Errors are
// *ledger.Refusal. The code is Unauthorized if the token is not in force.
func (s *Service) RotateAdminToken(ctx context.Context, token []byte) (secret.Text, error) {
	hash, retired := secret.HashToken(token), secret.Text(token)
	return s.rotate(ctx, retired, func(p *directory.Platform, successor [32]byte) (*directory.Platform, error) {
		return p.RotateAdminToken(hash, successor)
	})
}

// RotateAllAdminTokens retires all administration tokens and makes another. Errors are *ledger.Refusal. The code is
// Conflict for a store that has no token yet because no server has run on it.
func (s *Service) RotateAllAdminTokens(ctx context.Context) (secret.Text, error) {
	return s.rotate(ctx, "", func(p *directory.Platform, successor [32]byte) (*directory.Platform, error) {
		if len(p.AdminTokens) == 0 {
			return nil, ledger.Refuse("directory.RotateAllAdminTokens", ledger.Conflict, "there is no administration token yet")
		}
		return p.RotateAllAdminTokens(successor), nil
	})
}

// OnRotation registers a function that is called with a retired administration token and its
// successor, once the rotation is durable and before RotateAdminToken returns. Call OnRotation before
// the first command.
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
			stepWithoutSecrets(directory.Platforms, directory.PlatformOrg, old.stamp.Version, next, next.RotationEvent()),
		}}, successor, nil
	}, func(stamps []posting.Stamp) {
		s.putPlatform(next, stamps[0])
		if s.onRotation != nil && retired != "" {
			s.onRotation(retired, successor)
		}
	})
	if err != nil {
		return "", err
	}
	return successor, nil
}

// AdminTokenRetired tells whether the token was in force once and has been replaced.
func (s *Service) AdminTokenRetired(token []byte) bool {
	return slices.Contains(s.platform.Load().record.RetiredTokens, secret.HashToken(token))
}

// changePlatform makes the platform's next record durable. The author of its event is the service itself, not the caller,
// because partner numbers are reserved for any organization.
func (s *Service) changePlatform(ctx context.Context, op string, change func(*directory.Platform) (*directory.Platform, error)) error {
	var next *directory.Platform
	return s.run(ctx, directory.PlatformOrg, op, func(ledger.Micros) (*posting.Change, error) {
		old := s.platform.Load()
		var err error
		if next, err = change(old.record); err != nil || next == old.record {
			return nil, err
		}
		return &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{platformStep(old.stamp.Version, next)}}, nil
	}, func(stamps []posting.Stamp) {
		s.putPlatform(next, stamps[0])
	})
}

func platformStep(expect uint64, p *directory.Platform) posting.Step {
	return stepWithoutSecrets(directory.Platforms, directory.PlatformOrg, expect, p, p.ChangeEvent(expect == 0))
}

// maxSpareNumbers bounds the reserved partner numbers that are kept for future partners; any more are lost.
const maxSpareNumbers = 1024

// reservePartnerNumber returns a partner number that is durably reserved.
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

// certainlyRefused tells from the error whether a partner was certainly not created, so that its number can
// be used again. After a time-out or a fault the number may be in use.
func certainlyRefused(err error) bool {
	switch codeOf(err) {
	case ledger.Conflict, ledger.Invalid, ledger.NotFound:
		return true
	}
	return false
}
