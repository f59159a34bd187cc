module github.com/rewrite-probes/rewrite-probes

go 1.26
