"""The only place that builds objects: settings in, the parts of a gateway, a runner or a worker out."""
