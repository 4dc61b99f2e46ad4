"""``python -m toolsearch``."""

from toolsearch.cli import main

if __name__ == "__main__":
    main()
