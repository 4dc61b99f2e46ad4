"""What requests over HTTP share: addresses and keys, answers that have an end, waits, and no secret told."""
