module github.com/rewrite-probes/rewrite-probes/tools/figures

go 1.26.3
