"""What docs/make-reference makes the pages of docs/reference/ with."""
