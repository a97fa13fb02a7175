package cli

import (
	"errors"
	"io/fs"

	"mizan/posting/store"
)

// OpenFault maps an error of opening the store to the process's exit.
func OpenFault(err error) error {
	if errors.Is(err, store.ErrLocked) || store.IsOtherSchema(err) {
		return InUse("%v", err)
	}
	return StorageFault("%v", err)
}

// KeyringFault maps an error of loading the keyring to the process's exit: a missing file means
// a wrong flag; any other error is a storage fault.
func KeyringFault(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return BadConfiguration(err.Error())
	}
	return StorageFault("%v", err)
}
