"""What each conversation has discovered, and where that is kept."""
