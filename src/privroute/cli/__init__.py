"""The command line: thin, one function per command."""
