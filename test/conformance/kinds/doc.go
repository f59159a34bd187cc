// Package kinds has no code: its tests compare the table of kinds that make
// pods (internal/workload) with the API server's own types and with the
// CustomResourceDefinitions of the kinds. Knative's types have a module of
// their own below.
package kinds
