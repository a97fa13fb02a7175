package follower

// RunFor reads chunks until the time is over.
var RunFor = (*Follower).run

// TimeFor returns how long a run may take, given the number of events booked since the last run.
var TimeFor = runTime
