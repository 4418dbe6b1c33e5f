"""The same memory inside agent frameworks: plugins for Strands and for Agent Squad."""
