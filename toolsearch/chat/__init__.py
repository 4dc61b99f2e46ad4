"""Chat models behind one protocol, over HTTP: one provider a module."""
