"""dale with other libraries, each in a module of its own that is imported only where it is used."""
