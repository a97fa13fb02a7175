package payment

// CountTold is countTold.
var CountTold = countTold
