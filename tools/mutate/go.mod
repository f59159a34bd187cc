module github.com/rewrite-probes/rewrite-probes/tools/mutate

go 1.26.3
