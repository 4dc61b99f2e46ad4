"""Other tool searches, each as installed from the registry, over the same catalogs and queries as ours."""
