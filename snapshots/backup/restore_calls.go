package backup

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"mizan/snapshots/check/calls"
)

// removeLaterCalls removes calls from the log of the provider simulator if the store has no intent for them. (An
// intent is the event that must precede a call.) Such calls were made after the last group in the backup, so the
// restored simulator must not know them.
func removeLaterCalls(ctx context.Context, dir string, filter *calls.LogFilter) error {
	path := filepath.Join(dir, calls.LogName)
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // the file was only read
	newPath := path + ".new"
	out, err := os.OpenFile(newPath, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = copyKnownCalls(ctx, filter, in, out)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Rename(newPath, path)
}

// copyKnownCalls copies only the lines of calls for which the store has an intent.
func copyKnownCalls(ctx context.Context, filter *calls.LogFilter, in io.Reader, out io.Writer) error {
	r, w := bufio.NewReaderSize(in, 1<<20), bufio.NewWriterSize(out, 1<<20)
	for lineNumber := 1; ; lineNumber++ {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return w.Flush() // a line that is cut short is dropped, because the simulator never answered the call in it
		}
		if err != nil {
			return err
		}
		if lineNumber%rowsPerCheck == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !filter.Keeps(line) {
			continue
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
}
