"""Parts of graphs: finding them, and putting them into modules."""
