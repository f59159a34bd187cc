# Each image holds one static binary and the names of its users, and nothing
# else. They are built from what `make dist` compiled, and pull nothing:
#
#   make images                 with docker, or ENGINE=podman
#
# build/Dockerfile.source compiles as well, for a machine with docker and without Go.

FROM scratch AS base
ARG VERSION=dev
ARG COMMIT=unknown
LABEL org.opencontainers.image.source="https://github.com/rewrite-probes/rewrite-probes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}"
# kustomize and kpt run a function as nobody, by name.
COPY build/passwd /etc/passwd
COPY build/group /etc/group

FROM base AS rewrite-probes
# The engine sets these two; a default here would hide what it sets.
ARG TARGETOS
ARG TARGETARCH
LABEL org.opencontainers.image.title="rewrite-probes" \
      org.opencontainers.image.description="KRM function: makes probes and HTTP hooks work in a mesh that demands mTLS"
ARG BINARY=dist/${TARGETOS}-${TARGETARCH}/rewrite-probes
COPY ${BINARY} /rewrite-probes
USER 65532:65532
ENTRYPOINT ["/rewrite-probes"]

FROM base AS probe-proxy
ARG TARGETOS
ARG TARGETARCH
LABEL org.opencontainers.image.title="probe-proxy" \
      org.opencontainers.image.description="Sidecar: answers rewritten probes as the kubelet would have probed"
ARG BINARY=dist/${TARGETOS}-${TARGETARCH}/probe-proxy
COPY ${BINARY} /probe-proxy
# Never 1337: the mesh would take its requests for the proxy's own.
USER 65532:65532
ENTRYPOINT ["/probe-proxy"]

# For virtual machines that run containers, with the host's network.
FROM base AS probe-agent
ARG TARGETOS
ARG TARGETARCH
LABEL org.opencontainers.image.title="probe-agent" \
      org.opencontainers.image.description="Virtual machines without a sidecar: probes the app and tells istiod whether it is healthy"
ARG BINARY=dist/${TARGETOS}-${TARGETARCH}/probe-agent
COPY ${BINARY} /probe-agent
USER 65532:65532
ENTRYPOINT ["/probe-agent"]
