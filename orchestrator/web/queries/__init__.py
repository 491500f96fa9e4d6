"""What the API and the dashboard ask: plain functions of an office, a view or a book, returning frozen structs."""
