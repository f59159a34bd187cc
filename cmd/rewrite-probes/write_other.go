//go:build !unix

package main

import (
	"io/fs"
	"os"
)

func hasOtherLinks(fs.FileInfo) bool { return false }

func takeOwner(*os.File, fs.FileInfo) bool { return true }
