"""Where the domain meets libraries, files and AWS; their exceptions end here."""
