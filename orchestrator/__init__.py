"""Who starts it and watches: settings, wiring, the command line, the HTTP API, the dashboard."""
