package identity

import "time"

// The times that tests shorten.
var (
	CheckRenewal   = &checkRenewal
	ConnectTimeout = &connectTimeout
)

// MakeDue makes the certificate one that must be renewed.
func (e *Enrolment) MakeDue() { e.due = time.Time{} }
