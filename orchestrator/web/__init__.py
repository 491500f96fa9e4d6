"""The office in a browser: the HTTP API and the queries below it, which the dashboard uses too."""
