"""Commands for operators: check, repair, deliver, fold, tables, tokens."""
