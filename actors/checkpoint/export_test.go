package checkpoint

// Begin has a look made on the runtime's pool, as the passing of time does.
func (k *Keeper) Begin() { k.begin() }

// RestAfter is how many doublings of a second a keeper rests after a look.
var RestAfter = restAfter
