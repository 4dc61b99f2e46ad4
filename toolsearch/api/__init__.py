"""What goes over the wire between the HTTP service and its clients: one module a resource."""
