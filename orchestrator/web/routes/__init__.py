"""The API's routes: thin, each over a query or a command."""
