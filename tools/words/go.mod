module github.com/rewrite-probes/rewrite-probes/tools/words

go 1.26.3
