"""Packages on disk and from briefs: folders, the occupation index, generation through the Model port."""
