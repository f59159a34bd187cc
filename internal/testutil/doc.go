// Package testutil has what the tests and benchmarks of several packages share:
// real-world manifests, sections of a page that a program writes, ports, waiting,
// programs that run beside a test, and what they use. Package golden compares whole files.
package testutil
