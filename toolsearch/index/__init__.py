"""The index of a catalog: vectors, lexicon, names, and the folder that keeps them."""
