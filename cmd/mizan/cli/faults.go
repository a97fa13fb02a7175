package cli

import (
	"errors"
	"io/fs"

	"mizan/posting/store"
)

// OpenFault returns the fault for an error that occurred when the store was opened. If the store is locked or has another
// schema, the exit code is ExitLocked, and otherwise ExitStorage.
func OpenFault(err error) error {
	if errors.Is(err, store.ErrLocked) || store.IsOtherSchema(err) {
		return InUse("%v", err)
	}
	return StorageFault("%v", err)
}

// KeyringFault returns the fault for an error that occurred when the keyring was loaded. If the file is missing, the exit code
// is ExitConfiguration, because a flag must be wrong. Otherwise it is ExitStorage.
func KeyringFault(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return BadConfiguration(err.Error())
	}
	return StorageFault("%v", err)
}
