package transformer

// earlierAnnotation is the annotation in which an earlier version kept the originals that an
// Envoy in Open Service Mesh answered.
const earlierAnnotation = "rewrite-probes.io/osm-probers"
