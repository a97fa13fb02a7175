package backup

// ChangeHeader changes the header of a backup that has not been written yet.
func (b *Backup) ChangeHeader(change func(*Header)) { change(&b.header) }

// SaveAndPrune takes a backup and removes old ones, as a schedule does when a backup is due.
func (s *Service) SaveAndPrune(dir string, keepCount int) (FoundBackup, error) {
	return s.saveAndPrune(dir, keepCount)
}

// FindMisplaced returns what is wrong with the placements of organizations in the manifests of all shards.
var FindMisplaced = findMisplaced
