//go:build race

package main

// raced says that the race detector runs, which takes memory of its own.
const raced = true
