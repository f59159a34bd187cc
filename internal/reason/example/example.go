// Package example shows for each reason that a manifest can bring how the manifest is before and
// after the fix. Each file KEY.diff has whole files, so it shows both; a test of the command runs both.
package example

import (
	"embed"
	"strings"
)

//go:embed *.diff
var files embed.FS

// A File is a manifest or a functionConfig before and after the fix.
type File struct {
	Name          string
	Before, After string
}

// Text returns the example of a reason as a diff; "" if it has none.
func Text(key string) string {
	b, err := files.ReadFile(key + ".diff")
	if err != nil {
		return ""
	}
	return string(b)
}

// Of returns the files of a reason's example.
func Of(key string) (all []File) {
	for line := range strings.Lines(Text(key)) {
		if name, isHead := strings.CutPrefix(line, "@@ "); isHead {
			all = append(all, File{Name: strings.TrimSpace(name)})
			continue
		}
		f := &all[len(all)-1]
		if line[0] != '+' {
			f.Before += line[1:]
		}
		if line[0] != '-' {
			f.After += line[1:]
		}
	}
	return all
}
