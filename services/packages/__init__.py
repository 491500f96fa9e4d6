"""Packages on disk and from briefs: reading and writing folders, the occupation index, generation through the Model port."""
