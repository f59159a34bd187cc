//go:build !unix

package probe

import "os/exec"

// ownGroup does nothing: there are no process groups, only the command is killed.
func ownGroup(*exec.Cmd) {}
