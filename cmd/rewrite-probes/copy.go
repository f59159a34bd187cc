package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

func copyCommand(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "copy-to DIR",
		Short: "Copy this program into a folder",
		Long: `copy-to copies the program into a folder. Init containers need it, because the image of
rewrite-probes has no shell and no cp.`,
		Example: `  rewrite-probes copy-to /tools`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("one folder must be given")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			target, err := copySelf(args[0])
			if err != nil {
				return fmt.Errorf("nothing was copied: %w", err)
			}
			_, err = fmt.Fprintln(std.out, target)
			return err
		},
	}
}

// copySelf copies the running program into dir in one step, and returns the name
// of the copy.
func copySelf(dir string) (target string, err error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return target, fmt.Errorf("%s is not a folder: create it, or mount a volume there", dir)
	}
	self, err := os.Executable()
	text, readErr := os.ReadFile(self)
	if err := errors.Join(err, readErr); err != nil {
		return target, err
	}
	deleteStale(dir)
	to, err := createBeside(dir)
	if err != nil {
		return target, err
	}
	defer os.Remove(to.Name())
	_, err = to.Write(text)
	if err = errors.Join(err, to.Chmod(0o755), to.Close()); err == nil {
		target = filepath.Join(dir, filepath.Base(self))
		err = os.Rename(to.Name(), target)
	}
	return target, err
}
