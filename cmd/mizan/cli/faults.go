package cli

import (
	"errors"
	"io/fs"

	"mizan/posting/store"
)

// OpenFault converts an error of opening the store to a fault: with ExitLocked if the store is locked or has another
// schema, otherwise with ExitStorage.
func OpenFault(err error) error {
	if errors.Is(err, store.ErrLocked) || store.IsOtherSchema(err) {
		return InUse("%v", err)
	}
	return StorageFault("%v", err)
}

// KeyringFault converts an error of loading the keyring to a fault: with ExitConfiguration if the file is missing, because
// a flag is wrong then, otherwise with ExitStorage.
func KeyringFault(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return BadConfiguration(err.Error())
	}
	return StorageFault("%v", err)
}
