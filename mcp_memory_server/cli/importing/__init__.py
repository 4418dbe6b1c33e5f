"""Files and tables of other programs, read as statements and turns: one module for each program."""
