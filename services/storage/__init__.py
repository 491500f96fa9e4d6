"""Storage: one office's log, tape and outbox in a database, and file bytes in a content-addressed folder.

`journal.Offices` is the way in; `memory` holds the doubles that tests and property suites use.
"""
