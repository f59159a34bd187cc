# Each image holds one static binary and the names of its users, and nothing
# else. They are built from what `make dist` compiled, and pull nothing:
#
#   make images                 with docker, or ENGINE=podman
#
# build/Dockerfile.source compiles as well, for a machine with docker and without Go.

FROM scratch AS base
ARG VERSION=dev
ARG COMMIT=unknown
# The commit's time, as RFC 3339 has it.
ARG CREATED=1970-01-01T00:00:00Z
# Artifact Hub lists an image that has a description, a time and the address of a README.
LABEL org.opencontainers.image.source="https://github.com/rewrite-probes/rewrite-probes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.created="${CREATED}" \
      io.artifacthub.package.license="Apache-2.0" \
      io.artifacthub.package.category="networking" \
      io.artifacthub.package.keywords="probes,service mesh,istio,linkerd,mtls,kustomize,kpt"
# kustomize and kpt run a function as nobody, by name.
COPY build/passwd /etc/passwd
COPY build/group /etc/group

FROM base AS rewrite-probes
ARG VERSION=dev
# The engine sets these two; a default here would hide what it sets.
ARG TARGETOS
ARG TARGETARCH
LABEL org.opencontainers.image.title="rewrite-probes" \
      io.artifacthub.package.readme-url="https://raw.githubusercontent.com/rewrite-probes/rewrite-probes/${VERSION}/fn/README.md" \
      org.opencontainers.image.description="KRM function: makes probes and HTTP hooks work in a mesh that demands mTLS"
ARG BINARY=dist/${TARGETOS}-${TARGETARCH}/rewrite-probes
COPY ${BINARY} /rewrite-probes
USER 65532:65532
ENTRYPOINT ["/rewrite-probes"]

FROM base AS probe-proxy
ARG VERSION=dev
ARG TARGETOS
ARG TARGETARCH
LABEL org.opencontainers.image.title="probe-proxy" \
      io.artifacthub.package.readme-url="https://raw.githubusercontent.com/rewrite-probes/rewrite-probes/${VERSION}/docs/probe-proxy.md" \
      org.opencontainers.image.description="Sidecar: answers rewritten probes as the kubelet would have probed"
ARG BINARY=dist/${TARGETOS}-${TARGETARCH}/probe-proxy
COPY ${BINARY} /probe-proxy
# Never 1337: the mesh would take its requests for the proxy's own.
USER 65532:65532
ENTRYPOINT ["/probe-proxy"]

# For virtual machines that run containers, with the host's network.
FROM base AS probe-agent
ARG VERSION=dev
ARG TARGETOS
ARG TARGETARCH
LABEL org.opencontainers.image.title="probe-agent" \
      io.artifacthub.package.readme-url="https://raw.githubusercontent.com/rewrite-probes/rewrite-probes/${VERSION}/docs/guides/vm.md" \
      org.opencontainers.image.description="Virtual machines without a sidecar: probes the app and tells istiod whether it is healthy"
ARG BINARY=dist/${TARGETOS}-${TARGETARCH}/probe-agent
COPY ${BINARY} /probe-agent
USER 65532:65532
ENTRYPOINT ["/probe-agent"]
