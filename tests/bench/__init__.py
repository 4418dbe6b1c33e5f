"""Measurements: ratios to a floor that is measured in the same run, because absolute times depend on the machine."""
