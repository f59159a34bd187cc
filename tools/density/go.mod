module github.com/rewrite-probes/rewrite-probes/tools/density

go 1.26.3
