package cli

import (
	"errors"
	"io/fs"

	"mizan/posting/store"
)

// OpenFault says how the process ends when the store doesn't open.
func OpenFault(err error) error {
	if errors.Is(err, store.ErrLocked) || store.IsOtherSchema(err) {
		return InUse("%v", err)
	}
	return StorageFault("%v", err)
}

// KeyringFault ends a command: a file that is not there was named wrongly,
// whatever else is wrong with it the command can't mend.
func KeyringFault(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return BadConfiguration(err.Error())
	}
	return StorageFault("%v", err)
}
