package serving

import (
	"context"
	"errors"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/config"
	"mizan/internal/secret"
	"mizan/ledger"
)

// RotateAdminTokens retires all administration tokens in the store of a stopped server, and
// returns the token that replaces them.
func RotateAdminTokens(dir string, sealer directoryactor.Sealer, s *cli.Streams) (secret.Text, error) {
	_, isManual, err := readClock(dir)
	if err != nil {
		return "", cli.StorageFault("%v", err)
	}
	srv := newServer(newProcess(&config.Config{Dir: dir, ManualClock: isManual}, s, ""))
	token, err := srv.rotateAllTokens(context.Background(), sealer)
	return token, errors.Join(err, srv.close())
}

func (s *server) rotateAllTokens(ctx context.Context, sealer directoryactor.Sealer) (secret.Text, error) {
	if err := s.openStore(ctx); err != nil {
		return "", err
	}
	runtime := actors.New(actors.Options{Clock: s.clock, Journal: s.journal, Log: s.log})
	s.onClose(func() error { runtime.Stop(); return nil })
	var err error
	if s.directory, err = directoryactor.Start(runtime, sealer); err != nil {
		return "", cli.StorageFault("%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, seedTimeout)
	defer cancel()
	token, err := s.directory.RotateAllAdminTokens(ctx)
	var refused *ledger.Refusal
	switch {
	case errors.As(err, &refused) && refused.Code == ledger.Conflict:
		return "", cli.BadConfiguration("data: " + s.dir + ": " + refused.Detail)
	case err != nil:
		return "", cli.StorageFault("the rotation could not be stored: %v", err)
	}
	if _, isSandbox := s.directory.Sandbox(); isSandbox {
		box := s.readSandbox()
		box.AdminToken = string(token)
		if err := s.writeSandbox(box); err != nil {
			// The next start repairs the file. The token must be returned in spite of the error, or it
			// would be lost.
			s.log.Warn("sandbox.json can't be written; the next start makes another token for it", "error", err)
		}
	}
	return token, nil
}
