package identity

// CheckRenewal is checkRenewal, for tests to shorten.
var CheckRenewal = &checkRenewal
