package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"mizan/posting/store"
)

// TestStoreErrorsHaveTheirExitCodes checks the codes on which supervisors rely.
func TestStoreErrorsHaveTheirExitCodes(t *testing.T) {
	tests := []struct {
		err      error
		wantCode int
		wantLine string
	}{
		{store.ErrLocked, 3, "mizan: locked: x: the data directory is in use by another process\n"},
		{store.ErrNewerSchema, 3, "mizan: locked: x: the store was written by a newer release\n"},
		{store.ErrOlderSchema, 3, "mizan: locked: x: the store was written by an older release, whose rows this one does not read\n"},
		{store.ErrNoSpace, 1, "mizan: storage: x: not enough free space on the disk\n"},
		{&store.DamageError{What: "a row"}, 1, "mizan: storage: x: the store is damaged: a row; restore from a backup\n"},
		{fs.ErrPermission, 1, "mizan: storage: x: permission denied\n"},
	}
	for _, tt := range tests {
		var stderr bytes.Buffer
		if code := ReportExit(OpenFault(fmt.Errorf("x: %w", tt.err)), &stderr); code != tt.wantCode {
			t.Errorf("%v ends with %d, want %d", tt.err, code, tt.wantCode)
		}
		if stderr.String() != tt.wantLine {
			t.Errorf("%v prints %q, want %q", tt.err, stderr.String(), tt.wantLine)
		}
	}
}

func TestExitCodesOfSuccessAndUnknownErrors(t *testing.T) {
	var stderr bytes.Buffer
	if code := ReportExit(nil, &stderr); code != 0 || stderr.Len() != 0 {
		t.Errorf("no error ends with %d and prints %q", code, stderr.String())
	}
	if code := ReportExit(errors.New("strange"), &stderr); code != 1 || stderr.String() != "mizan: strange\n" {
		t.Errorf("an unknown error ends with %d and prints %q", code, stderr.String())
	}
	stderr.Reset()
	if code := ReportExit(errors.Join(BadConfiguration("a", "b"), nil), &stderr); code != 2 || stderr.String() != "mizan: configuration: a\nmizan: configuration: b\n" {
		t.Errorf("two bad keys end with %d and print %q", code, stderr.String())
	}
}
