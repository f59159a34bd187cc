// With a file of assembly in the package, the compiler allows functions without a body,
// such as those of Kubernetes that the tests link by name.
