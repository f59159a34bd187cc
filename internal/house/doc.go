// Package house has no code. Its tests are the rules of the whole repository: which package may
// import which, what tests and things are called, and that a test expects every message.
package house
