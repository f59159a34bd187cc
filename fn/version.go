package main

// version is set by the release build.
var version = "dev"
