#!/bin/sh
# Measures the user CPU of `rewrite-probes patches --repo` on a small home lab of charts and kustomizations, and that of the same
# runs of helm and kustomize without it. Usage: bench-patches.sh REWRITE-PROBES KUSTOMIZE [RUNS]; helm is that of PATH.
set -eu
ours=$(realpath "$1") kustomize=$(realpath "$2") runs=${3:-5}
helm=$(command -v helm)
lab=$(mktemp -d)
trap 'rm -rf "$lab"' EXIT
mkdir -p "$lab/bin" "$lab/repo/.git" "$lab/repo/charts" "$lab/repo/apps" "$lab/repo/clusters"
cd "$lab/repo"

for n in 1 2 3 4 5 6 7 8 9 10; do
  "$helm" create "charts/app$n" >"$lab/log" 2>&1 || { grep "^error" "$lab/log" >&2; exit 1; }
  cat >"apps/app$n.yaml" <<END
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: app$n, namespace: apps}
spec:
  chart: {spec: {chart: ./charts/app$n, sourceRef: {kind: GitRepository, name: lab, namespace: flux-system}}}
  values: {replicaCount: $n, podLabels: {sidecar.istio.io/inject: "true"}}
END
  mkdir -p "apps/web$n"
  printf 'resources: [web.yaml]\nnamespace: web\n' >"apps/web$n/kustomization.yaml"
  "$helm" template "web$n" "charts/app$n" --set-string "podLabels.sidecar\.istio\.io/inject=true" >"apps/web$n/web.yaml"
  cat >"clusters/web$n.yaml" <<END
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web$n, namespace: flux-system}
spec: {path: ./apps/web$n, sourceRef: {kind: GitRepository, name: lab}}
END
done

# The first run has helm and kustomize note what they are told, with their input.
for program in helm kustomize; do
  eval "real=\$$program"
  cat >"$lab/bin/$program" <<END
#!/bin/sh
stdin=\$(mktemp "$lab/stdin.XXXXXX")
folder=\$(mktemp -d "$lab/kept.XXXXXX")
case " \$* " in *" - "*) cat >"\$stdin" ;; esac
{
  printf 'cd %s; %s' "\$PWD" "$real"
  for word; do
    [ ! -e "\$word" ] || { cp -r "\$word" "\$folder/"; word=\$folder/\$(basename "\$word"); }
    printf " '%s'" "\$word"
  done
  printf ' <%s >/dev/null\n' "\$stdin"
} >>"$lab/alone"
exec "$real" "\$@" <"\$stdin"
END
  chmod +x "$lab/bin/$program"
done
PATH=$lab/bin:$PATH "$ours" patches --repo . -l 2>"$lab/log" >/dev/null || { grep "^error" "$lab/log" >&2; exit 1; }
tail -n 1 "$lab/log"
mkdir "$lab/real"
ln -s "$kustomize" "$lab/real/kustomize"
ln -s "$helm" "$lab/real/helm"
wc -l <"$lab/alone" | sed 's/$/ runs of helm and kustomize/'

# user prints the seconds of user CPU of a command and of all that it starts.
user() {
  sh -c '"$@" >/dev/null 2>&1; times' sh "$@" | awk 'NR == 2 { split($1, t, "[ms]"); print t[1] * 60 + t[2] }'
}

for run in $(seq "$runs"); do
  with=$(PATH=$lab/real:$PATH user "$ours" patches --repo . -l)
  alone=$(user sh "$lab/alone")
  echo "$with $alone"
done | awk '{ print "with: " $1 " s, alone: " $2 " s, ratio " $1 / $2; print $1 / $2 >"/dev/stderr" }' 2>"$lab/ratios"
sort -n "$lab/ratios" | awk '{ r[NR] = $1 } END { print "median of the ratios of user CPU: " r[int((NR + 1) / 2)] }'
