package snapshots_test

var operationFaults = []fault{}
