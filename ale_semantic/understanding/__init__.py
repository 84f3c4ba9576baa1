"""What a query asks for beyond its words: a relation to a named task, and phrases that name facets."""
