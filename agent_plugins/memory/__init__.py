"""The memory as agents use it, whatever their framework."""
