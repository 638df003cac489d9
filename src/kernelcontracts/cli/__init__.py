"""The command line. Thin: parse arguments, call one verb, render."""
